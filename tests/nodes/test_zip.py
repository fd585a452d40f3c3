"""Datasets side by side."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grain
from grain import experimental as ex
from grain._src.errors import StateError
from grain._src.nodes.order import Shuffle
from grain._src.nodes.source import Range
from grain._src.nodes.zip import Zip

INLINE = grain.ReadOptions(0, 0)


def streams(*lengths):
    return [grain.MapDataset.range(100 * i, 100 * i + n).to_iter_dataset(INLINE) for i, n in enumerate(lengths)]


@given(st.integers(1, 30), st.lists(st.integers(0, 100), min_size=1))
def test_one_lookup_and_many_are_the_same(length, indices):
    node = Zip((Shuffle(Range(0, length, 1), 5), Range(0, length, 1)))
    assert list(node.stream(np.array(indices))) == [node.get(index) for index in indices]


def test_a_hole_in_one_dataset_is_a_none_in_the_tuple():
    ds = ex.ZipMapDataset([grain.MapDataset.range(3), grain.MapDataset.range(3).filter(lambda x: x != 1)])
    assert list(ds) == [(0, 0), (1, None), (2, 2)]
    with pytest.raises(ValueError, match="can not follow"):
        ds.batch(1)


def test_datasets_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match=r"equally long, got lengths \[3, 4\]"):
        ex.ZipMapDataset([grain.MapDataset.range(3), grain.MapDataset.range(4)])


@pytest.mark.parametrize("zipped", [ex.ZipMapDataset, ex.ZipIterDataset])
def test_nothing_cannot_be_zipped(zipped):
    with pytest.raises(ValueError, match="at least one dataset"):
        zipped([])


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4))
def test_without_strictness_the_shortest_stream_ends_all(lengths):
    ds = ex.ZipIterDataset(streams(*lengths), strict=False)
    assert list(ds) == list(zip(*[list(stream) for stream in streams(*lengths)], strict=False))


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ((3, 2), "argument 2 is shorter than argument 1"),
        ((2, 3), "argument 2 is longer than argument 1"),
        ((2, 2, 3), "argument 3 is longer than argument 1"),
    ],
)
def test_strictly_all_streams_must_end_together(lengths, message):
    it = iter(ex.ZipIterDataset(streams(*lengths)))
    assert [next(it), next(it)] == [tuple(100 * i + k for i in range(len(lengths))) for k in range(2)]
    with pytest.raises(ValueError, match=message):
        next(it)
    assert list(it) == []


@given(st.integers(1, 6), st.integers(1, 3))
def test_a_restored_zip_goes_on_with_the_same_elements(length, count):
    ex.assert_equal_output_after_checkpoint(ex.ZipIterDataset(streams(*[length] * count)))


def test_an_error_of_one_stream_keeps_all_of_them_together():
    failures = iter([True])

    def flaky(x):
        if x == 101 and next(failures, False):
            raise OSError("once")
        return x

    first, second = streams(3, 3)
    it = iter(ex.ZipIterDataset([first, second.map(flaky)]))
    assert next(it) == (0, 100)
    with pytest.raises(OSError, match="once"):
        next(it)
    assert it.get_state() == {"parents": [{"next_index": 1}, {"next_index": 1}]}
    assert list(it) == [(1, 101), (2, 102)]


@pytest.mark.parametrize("state", [{"parents": [{"next_index": 2}]}, {"parents": [{"next_index": 2}, {}]}, {}])
def test_a_state_of_another_pipeline_is_refused_and_changes_nothing(state):
    it = iter(ex.ZipIterDataset(streams(3, 3)))
    next(it)
    with pytest.raises(StateError):
        it.set_state(state)
    assert list(it) == [(1, 101), (2, 102)]


def test_workers_change_neither_elements_nor_states():
    ds = ex.ZipIterDataset([*streams(5), grain.MapDataset.range(5)])
    with iter(ds.mp_prefetch(grain.MultiprocessingOptions(num_workers=2))) as spread, iter(ds) as plain:
        for element in plain:
            assert next(spread) == element
            assert spread.get_state() == plain.get_state()
