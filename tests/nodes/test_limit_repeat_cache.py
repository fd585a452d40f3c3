"""The first elements of a stream, a stream several times over, and one that is kept in memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import grain
from grain import experimental as ex
from grain._src.errors import StateError

INLINE = grain.ReadOptions(0, 0)


def stream(length):
    return grain.MapDataset.range(length).to_iter_dataset(INLINE)


def counted(length, calls):
    return grain.MapDataset.range(length).map(lambda x: (calls.append(x), x)[1]).to_iter_dataset(INLINE)


@given(st.integers(0, 9), st.integers(1, 12), st.integers(1, 5))
def test_a_limit_takes_the_first_elements_and_reads_no_more(length, count, pulled):
    calls = []
    it = iter(ex.LimitIterDataset(counted(length, calls), count))
    elements = []
    while more := it.pull(pulled):
        elements += more
    assert elements == calls == list(range(min(length, count)))


def test_an_error_in_a_batch_does_not_widen_the_limit():
    failures = iter([True])

    def flaky(x):
        if x == 2 and next(failures, False):
            raise OSError
        return x

    it = iter(ex.LimitIterDataset(grain.MapDataset.range(9).map(flaky).to_iter_dataset(INLINE), 5).batch(3))
    with pytest.raises(OSError):
        next(it)
    assert it.get_state()["count_elements_read"] == 2
    assert [batch.tolist() for batch in it] == [[2, 3, 4]]


@given(st.integers(0, 5), st.integers(1, 4))
def test_a_repeated_stream_is_the_same_each_time(length, epochs):
    assert list(ex.RepeatIterDataset(stream(length), epochs)) == list(range(length)) * epochs


def test_repeating_without_end_goes_on_and_an_empty_stream_stays_empty():
    it = iter(ex.RepeatIterDataset(stream(2)))
    assert [next(it) for _ in range(7)] == [0, 1, 0, 1, 0, 1, 0]
    assert it.get_state() == {"parent": {"next_index": 1}, "epoch": 3}
    assert list(ex.RepeatIterDataset(stream(0))) == []


def test_every_epoch_draws_the_same_random_numbers():
    ds = stream(3).random_map(lambda x, rng: rng.integers(1 << 30), seed=1)
    drawn = list(ex.RepeatIterDataset(ds, 2))
    assert drawn[:3] == drawn[3:]


@pytest.mark.parametrize(
    "ds",
    [
        ex.LimitIterDataset(stream(9), 5),
        ex.LimitIterDataset(stream(3), 5),
        ex.RepeatIterDataset(stream(3), 3),
        ex.CacheIterDataset(stream(4)),
        ex.RepeatIterDataset(ex.CacheIterDataset(stream(3)), 3),
        ex.RepeatIterDataset(ex.CacheIterDataset(stream(3)).map(lambda x: x + 1), 2).batch(4),
        ex.LimitIterDataset(ex.RepeatIterDataset(stream(3)), 7),
    ],
    ids=range(7),
)
def test_a_restored_iterator_goes_on_with_the_same_elements(ds):
    ex.assert_equal_output_after_checkpoint(ds)


def test_a_cached_stream_is_computed_once():
    calls = []
    ds = ex.RepeatIterDataset(ex.CacheIterDataset(counted(3, calls)), 4)
    assert list(ds) == [0, 1, 2] * 4
    assert calls == [0, 1, 2]


def test_a_cache_restored_in_a_later_epoch_computes_what_it_lacks():
    calls = []
    ds = ex.RepeatIterDataset(ex.CacheIterDataset(counted(3, calls)), 3)
    it = iter(ds)
    it.set_state({"parent": {"parent": {"next_index": 0}, "position": 2, "cache_filled": True}, "epoch": 1})
    assert calls == []
    assert list(it) == [2, 0, 1, 2]
    assert calls == [0, 1, 2]


def test_a_cache_restored_in_its_first_epoch_fills_in_the_next_one():
    calls = []
    it = iter(ex.RepeatIterDataset(ex.CacheIterDataset(counted(3, calls)), 3))
    it.set_state({"parent": {"parent": {"next_index": 1}, "position": 1, "cache_filled": False}, "epoch": 0})
    assert list(it) == [1, 2, 0, 1, 2, 0, 1, 2]
    assert calls == [1, 2, 0, 1, 2]


def test_the_states_of_a_cache_hold_no_elements():
    it = iter(ex.RepeatIterDataset(ex.CacheIterDataset(stream(2)), 2))
    states = [it.get_state() for _ in it]
    assert states == [
        {"parent": {"parent": {"next_index": 1}, "position": 1, "cache_filled": False}, "epoch": 0},
        {"parent": {"parent": {"next_index": 2}, "position": 2, "cache_filled": False}, "epoch": 0},
        {"parent": {"parent": {"next_index": 0}, "position": 1, "cache_filled": True}, "epoch": 1},
        {"parent": {"parent": {"next_index": 0}, "position": 2, "cache_filled": True}, "epoch": 1},
    ]


@pytest.mark.parametrize(
    "make",
    [
        lambda: ex.LimitIterDataset(stream(5), 4),
        lambda: ex.RepeatIterDataset(stream(2), 2),
        lambda: ex.CacheIterDataset(stream(4)),
    ],
)
@pytest.mark.parametrize(
    "state",
    [
        {},
        {"parent": {"x": 1}, "count_elements_read": 1, "epoch": 1, "position": 1, "cache_filled": False},
        {"parent": {"next_index": 1}, "count_elements_read": -1, "epoch": -1, "position": -1, "cache_filled": False},
    ],
)
def test_a_state_of_another_pipeline_is_refused_and_changes_nothing(make, state):
    it = iter(make())
    first = next(it)
    with pytest.raises(StateError):
        it.set_state(state)
    assert [first, *it] == list(make())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ex.LimitIterDataset(stream(3), 0), "count must be a positive integer, got 0"),
        (lambda: ex.RepeatIterDataset(stream(3), 0), "num_epochs must be a positive integer, got 0"),
    ],
)
def test_bad_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_workers_change_neither_elements_nor_states():
    ds = ex.LimitIterDataset(ex.RepeatIterDataset(ex.CacheIterDataset(stream(5)), 3), 12)
    with iter(ds.mp_prefetch(grain.MultiprocessingOptions(num_workers=2))) as spread, iter(ds) as plain:
        for element in plain:
            assert next(spread) == element
            assert spread.get_state() == plain.get_state()
