"""Streams in turn."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

import grain
from grain import experimental as ex
from grain._src.errors import StateError

INLINE = grain.ReadOptions(0, 0)
LENGTHS = st.lists(st.integers(0, 6), min_size=1, max_size=7)


def streams(lengths):
    return [grain.MapDataset.range(100 * i, 100 * i + n).to_iter_dataset(INLINE) for i, n in enumerate(lengths)]


def in_turn(lengths, cycle_length):
    """The order, written down plainly."""
    waiting = [list(range(100 * i, 100 * i + n)) for i, n in enumerate(lengths)]
    slots = [waiting.pop(0) for _ in range(min(cycle_length, len(waiting)))]
    ended, turn, out = [False] * len(slots), 0, []
    while waiting or not all(ended):
        if ended[turn] and waiting:
            slots[turn], ended[turn] = waiting.pop(0), False
        if slots[turn]:
            out.append(slots[turn].pop(0))
        else:
            ended[turn] = True
        turn = (turn + 1) % len(slots)
    return out


@given(LENGTHS, st.integers(1, 8), st.integers(0, 3))
def test_streams_are_taken_in_turn(lengths, cycle_length, ahead):
    ds = ex.InterleaveIterDataset(
        streams(lengths), cycle_length=cycle_length, num_make_iter_threads=min(ahead, 2), make_iter_buffer_size=ahead
    )
    assert list(ds) == in_turn(lengths, cycle_length)


@given(LENGTHS, st.integers(1, 8))
def test_a_restored_iterator_goes_on_with_the_same_elements(lengths, cycle_length):
    if any(lengths):
        ex.assert_equal_output_after_checkpoint(ex.InterleaveIterDataset(streams(lengths), cycle_length=cycle_length))


def test_a_slice_a_worker_gives_the_order_of_the_reference_with_workers():
    ds = grain.MapDataset.range(10)
    parts = [ds[i::2].to_iter_dataset().batch(2) for i in range(2)]
    batches = [batch.tolist() for batch in ex.InterleaveIterDataset(parts, cycle_length=2)]
    assert batches == [[0, 2], [1, 3], [4, 6], [5, 7], [8], [9]]


class Started(grain.IterDataset):
    """Notes when and by which thread it is started."""

    def __init__(self, parent, log):
        super().__init__(parent)
        self.log = log

    def __iter__(self):
        self.log.append(threading.current_thread() is threading.main_thread())
        return self._parent.__iter__()


def test_streams_are_started_when_their_turn_comes_near():
    log = []
    datasets = [Started(stream, log) for stream in streams((2,) * 50)]
    it = iter(ex.InterleaveIterDataset(datasets, cycle_length=2, num_make_iter_threads=0))
    assert log == [True, True]
    for _ in range(6):
        next(it)
    assert log == [True] * 4


def test_coming_streams_are_started_by_threads():
    log = []
    datasets = [Started(stream, log) for stream in streams((1,) * 4)]
    with iter(ex.InterleaveIterDataset(datasets, cycle_length=1, make_iter_buffer_size=3)) as it:
        assert list(it) == [0, 100, 200, 300]
    assert log == [True, False, False, False]


def test_what_starting_a_stream_raises_comes_at_its_turn():
    class Broken(grain.IterDataset):
        def __iter__(self):
            raise OSError("no such file")

    it = iter(ex.InterleaveIterDataset([*streams((2,)), Broken()], cycle_length=1))
    assert [next(it), next(it)] == [0, 1]
    with pytest.raises(OSError, match="no such file"):
        next(it)


def test_a_dataset_of_datasets_makes_each_when_it_is_needed():
    made = []

    def make(number):
        made.append(number)
        return grain.MapDataset.range(10 * number, 10 * number + 2).to_iter_dataset(INLINE)

    ds = ex.InterleaveIterDataset(grain.MapDataset.range(9).map(make), cycle_length=2, num_make_iter_threads=0)
    it = iter(ds)
    assert next(it) == 0
    assert made == [0, 1]
    assert list(it)[:4] == [10, 1, 11, 20]


def test_set_slice_keeps_some_of_the_streams():
    ds = ex.InterleaveIterDataset(streams((2,) * 5), cycle_length=2)
    ds.set_slice(slice(0, None, 2))
    assert list(ds) == [0, 200, 1, 201, 400, 401]


def test_an_error_of_one_stream_is_raised_at_its_turn_and_the_others_go_on():
    failures = iter([True])

    def flaky(x):
        if next(failures, False):
            raise OSError("once")
        return x

    bad = grain.MapDataset.range(100, 102).map(flaky).to_iter_dataset(INLINE)
    it = iter(ex.InterleaveIterDataset([*streams((2,)), bad], cycle_length=2))
    assert next(it) == 0
    with pytest.raises(OSError, match="once"):
        next(it)
    assert list(it) == [100, 1, 101]


def test_states_are_those_of_the_streams_in_the_cycle():
    it = iter(ex.InterleaveIterDataset(streams((3, 4, 5)), cycle_length=2))
    for _ in range(3):
        next(it)
    assert it.get_state() == {
        "next_index_in_cycle": 1,
        "next_index_in_datasets": 2,
        "iterators_in_use_indices": [0, 1],
        "iterators_in_use_states": [{"next_index": 2}, {"next_index": 1}],
        "exhausted": [0, 0],
        "future_states": {},
    }


@pytest.mark.parametrize(
    "change",
    [
        {"exhausted": [0]},
        {"next_index_in_datasets": 9},
        {"iterators_in_use_indices": [0, 7]},
        {"iterators_in_use_states": [{"next_index": 1}, {"other": 1}]},
    ],
)
def test_a_state_of_another_pipeline_is_refused_and_changes_nothing(change):
    ds = ex.InterleaveIterDataset(streams((3, 4, 5)), cycle_length=2)
    it = iter(ds)
    first = next(it)
    with pytest.raises(StateError):
        it.set_state({**it.get_state(), **change})
    assert [first, *it] == list(ds)


@pytest.mark.parametrize(
    ("datasets", "options", "message"),
    [([], {"cycle_length": 1}, "at least one dataset"), (streams((1,)), {"cycle_length": 0}, "cycle_length must be")],
)
def test_bad_arguments_are_named(datasets, options, message):
    with pytest.raises(ValueError, match=message):
        ex.InterleaveIterDataset(datasets, **options)


def test_a_closed_iterator_gives_nothing_more():
    it = iter(ex.InterleaveIterDataset(streams((3, 4)), cycle_length=2))
    next(it)
    it.close()
    it.close()
    with pytest.raises(ValueError, match="closed iterator"):
        next(it)


def test_workers_change_neither_elements_nor_states():
    ds = ex.InterleaveIterDataset(streams((3, 4, 5, 2)), cycle_length=2)
    with iter(ds.mp_prefetch(grain.MultiprocessingOptions(num_workers=2))) as spread, iter(ds) as plain:
        for element in plain:
            assert next(spread) == element
            assert spread.get_state() == plain.get_state()
        assert next(spread, None) is None
