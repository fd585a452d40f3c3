"""`end_together`: all processes stop at the step where the first of them has nothing left."""

import threading

import pytest

import grain
from grain.sharding import end_together


class Meeting:
    """Lets threads stand for processes: each call waits for all of them and gives the least of their numbers."""

    def __init__(self, members):
        self._barrier = threading.Barrier(members, timeout=20)
        self._values = {}
        self.rounds = 0

    def agree(self, value):
        self._values[threading.get_ident()] = value
        if self._barrier.wait() == 0:
            self.rounds += 1
        least = min(self._values.values())
        self._barrier.wait()
        return least


def run(iterators, every=1):
    """What each of the processes gets, or the error that it sees."""
    meeting, results = Meeting(len(iterators)), {}

    def process(number):
        try:
            results[number] = list(end_together(iterators[number], every=every, agree=meeting.agree))
        except Exception as error:
            results[number] = error

    threads = [threading.Thread(target=process, args=(number,)) for number in range(len(iterators))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    return [results[number] for number in range(len(iterators))], meeting.rounds


@pytest.mark.parametrize("every", [1, 2, 3, 10])
@pytest.mark.parametrize("lengths", [(5, 7, 6), (4, 4), (0, 3), (9,)])
def test_everybody_ends_with_the_shortest(lengths, every):
    results, _ = run([iter(range(length)) for length in lengths], every)
    assert results == [list(range(min(lengths)))] * len(lengths)


def test_several_elements_are_agreed_on_at_once():
    _, rounds = run([iter(range(40)), iter(range(44))], every=8)
    assert rounds == 6


@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize(
    "batches",
    [
        [0, 1, 2, 3, 4],
        grain.load(range(5), num_epochs=1),
        grain.MapDataset.range(5),
        grain.MapDataset.range(5).to_iter_dataset(),
    ],
    ids=["list", "loader", "dataset", "stream"],
)
def test_what_has_an_iterator_is_as_good_as_one(batches, every):
    assert list(end_together(batches, every=every, agree=lambda count: count)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("given", [None, 3, "batches", b"batches"])
def test_what_has_no_iterator_is_refused_at_once(given):
    with pytest.raises(
        TypeError, match=f"iterator must be an iterator, or a dataset or loader that has one, got {given!r}"
    ):
        end_together(given)
    with pytest.raises(TypeError, match="agree must be a function, got 3"):
        end_together(iter([1]), agree=3)


def failing(length):
    yield from range(length)
    raise OSError("the disk is gone")


def test_a_failure_of_one_reaches_all_instead_of_leaving_them_waiting():
    (mine, other), _ = run([failing(2), iter(range(9))])
    assert isinstance(mine, OSError)
    assert isinstance(other, RuntimeError)
    assert "another process failed" in str(other)


@pytest.mark.parametrize("every", [1, 4])
def test_the_state_is_where_the_consumer_is_not_how_far_was_read_ahead(every):
    def start():
        loader = grain.load(list(range(10)), num_epochs=1)
        return end_together(iter(loader), every=every, agree=lambda count: count)

    iterator = start()
    assert [next(iterator) for _ in range(3)] == [0, 1, 2]
    resumed = start()
    resumed.set_state(iterator.get_state())
    assert list(resumed) == list(iterator) == [3, 4, 5, 6, 7, 8, 9]


def test_datasets_work_as_loaders_do():
    ds = grain.MapDataset.range(5).to_iter_dataset()
    with end_together(iter(ds)) as iterator:
        next(iterator)
        assert iterator.get_state() == {"next_index": 1}
        assert list(iterator) == [1, 2, 3, 4]


def test_every_is_checked():
    with pytest.raises(ValueError, match="every must be a positive integer, got 0"):
        end_together(iter([]), every=0)
