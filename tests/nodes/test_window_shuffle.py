"""Shuffling within windows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grain
from grain import experimental as ex
from grain._src.errors import StateError
from grain._src.nodes.order import Shuffle
from grain._src.nodes.source import Range
from grain._src.nodes.window_shuffle import WindowShuffle

INLINE = grain.ReadOptions(0, 0)
SIZES = st.integers(1, 40)


def shuffled(length, window_size, seed=1):
    return ex.WindowShuffleIterDataset(
        grain.MapDataset.range(length).to_iter_dataset(INLINE), window_size=window_size, seed=seed
    )


@given(st.integers(1, 60), SIZES, st.integers(0, 2**32 - 1), st.lists(st.integers(0, 200), min_size=1))
def test_one_lookup_and_many_are_the_same(length, window_size, seed, indices):
    node = WindowShuffle(Shuffle(Range(0, length, 1), 5), window_size, seed)
    assert list(node.stream(np.array(indices))) == [node.get(index) for index in indices]
    assert [node.inputs(index) for index in indices] == [[(node.parent, node.rewrite(index))] for index in indices]


@given(st.integers(1, 8), SIZES, st.integers(0, 2**32 - 1))
def test_full_windows_are_permutations_of_their_own_elements(windows, window_size, seed):
    ds = ex.WindowShuffleMapDataset(grain.MapDataset.range(windows * window_size), window_size=window_size, seed=seed)
    elements = list(ds)
    for start in range(0, len(elements), window_size):
        assert sorted(elements[start : start + window_size]) == list(range(start, start + window_size))


@given(st.integers(0, 60), SIZES, st.integers(0, 2**32 - 1))
def test_a_stream_loses_nothing_and_keeps_windows_apart(length, window_size, seed):
    elements = list(shuffled(length, window_size, seed))
    for start in range(0, length, window_size):
        assert sorted(elements[start : start + window_size]) == list(range(start, min(length, start + window_size)))


@given(st.integers(1, 40), SIZES)
def test_a_restored_stream_goes_on_with_the_same_elements(length, window_size):
    ex.assert_equal_output_after_checkpoint(shuffled(length, window_size))


@given(st.integers(0, 40), SIZES, st.lists(st.integers(1, 15)))
def test_pulling_many_is_the_same_as_next(length, window_size, counts):
    one, many = iter(shuffled(length, window_size)), iter(shuffled(length, window_size))
    for count in counts:
        assert many.pull(count) == [
            element for element in (next(one, None) for _ in range(count)) if element is not None
        ]
        assert many.get_state() == one.get_state()


def test_the_state_names_the_window_and_holds_no_elements():
    it = iter(shuffled(10, 4))
    next(it)
    assert it.get_state() == {"parent_window_start_state": {"next_index": 0}, "window_index": 0, "pos_in_window": 1}
    it.pull(3)
    assert it.get_state() == {"parent_window_start_state": {"next_index": 0}, "window_index": 1, "pos_in_window": 4}


def test_a_window_is_read_when_its_first_element_is_asked_for():
    read = []
    ds = grain.MapDataset.range(10).map(lambda x: (read.append(x), x)[1]).to_iter_dataset(INLINE)
    it = iter(ex.WindowShuffleIterDataset(ds, window_size=4, seed=1))
    assert read == []
    it.pull(4)
    assert read == [0, 1, 2, 3]


def test_an_error_of_the_parent_loses_no_element():
    failures = iter([True])

    def flaky(x):
        if x == 2 and next(failures, False):
            raise OSError("once")
        return x

    ds = grain.MapDataset.range(6).map(flaky).to_iter_dataset(INLINE)
    it = iter(ex.WindowShuffleIterDataset(ds, window_size=4, seed=1))
    with pytest.raises(OSError, match="once"):
        next(it)
    assert list(it) == list(shuffled(6, 4))


@pytest.mark.parametrize("state", [{}, {"parent_window_start_state": {"x": 1}, "window_index": 0, "pos_in_window": 0}])
def test_a_state_of_another_pipeline_is_refused_and_changes_nothing(state):
    it = iter(shuffled(10, 4))
    first = it.pull(2)
    with pytest.raises(StateError):
        it.set_state(state)
    assert first + list(it) == list(shuffled(10, 4))


@pytest.mark.parametrize("options", [{"window_size": 0, "seed": 1}, {"window_size": 3, "seed": -1}])
def test_bad_arguments_are_named(options):
    with pytest.raises(ValueError, match=r"window_size must be|seed must be"):
        ex.WindowShuffleMapDataset(grain.MapDataset.range(3), **options)
    with pytest.raises(ValueError, match=r"window_size must be|seed must be"):
        ex.WindowShuffleIterDataset(grain.MapDataset.range(3).to_iter_dataset(), **options)


def test_workers_change_neither_elements_nor_states():
    ds = shuffled(20, 6)
    with iter(ds.mp_prefetch(grain.MultiprocessingOptions(num_workers=2))) as spread:
        for element, plain in zip(spread, iter(ds), strict=True):
            assert element == plain
        spread.set_state({"parent_window_start_state": {"next_index": 6}, "window_index": 1, "pos_in_window": 2})
        assert list(spread) == list(ds)[8:]
