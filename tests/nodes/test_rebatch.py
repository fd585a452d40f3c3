"""Batches of another size out of batches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grain
from grain import experimental as ex
from grain._src.errors import StateError

INLINE = grain.ReadOptions(0, 0)


def batches(length, size):
    ds = grain.MapDataset.range(length).map(lambda i: {"a": i, "b": np.full(2, i)})
    return ds.batch(size).to_iter_dataset(INLINE) if length else ds.to_iter_dataset(INLINE)


def of(elements, batch_size=2):
    return ex.RebatchIterDataset(grain.MapDataset.source(elements).to_iter_dataset(INLINE), batch_size)


@given(st.integers(0, 30), st.integers(1, 9), st.integers(1, 9), st.booleans())
def test_rows_keep_their_order_and_only_the_last_batch_may_be_short(length, before, after, drop):
    out = list(ex.RebatchIterDataset(batches(length, before), after, drop))
    rows = [row for batch in out for row in batch["a"].tolist()]
    assert rows == list(range(length // after * after if drop else length))
    assert all(len(batch["a"]) == after for batch in out[:-1])
    assert all(batch["b"].tolist() == [[a, a] for a in batch["a"].tolist()] for batch in out)


@given(st.integers(1, 30), st.integers(1, 9), st.integers(1, 9))
def test_a_restored_iterator_goes_on_with_the_same_batches(length, before, after):
    ex.assert_equal_output_after_checkpoint(ex.RebatchIterDataset(batches(length, before), after))


def test_the_state_is_before_the_batch_that_is_being_cut():
    it = iter(ex.RebatchIterDataset(batches(20, 8), 3))
    states = [it.get_state() for _ in it]
    assert states[:3] == [
        {"parent": {"next_index": 0}, "batch_idx": 3},
        {"parent": {"next_index": 0}, "batch_idx": 6},
        {"parent": {"next_index": 1}, "batch_idx": 1},
    ]


def test_an_error_of_the_parent_loses_no_rows():
    failures = iter([True])

    def flaky(batch):
        if batch["a"][0] == 3 and next(failures, False):
            raise OSError("once")
        return batch

    it = iter(ex.RebatchIterDataset(grain.MapDataset.range(9).map(lambda i: {"a": i}).batch(3).map(flaky), 4))
    with pytest.raises(OSError, match="once"):
        next(it)
    assert it.get_state() == {"parent": {"next_index": 0}, "batch_idx": 0}
    assert [batch["a"].tolist() for batch in it] == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]


@pytest.mark.parametrize(
    ("elements", "error", "message"),
    [
        ([1, 2], TypeError, "leaves have a first axis"),
        ([{"a": np.arange(2), "b": np.arange(3)}], ValueError, r"equally long, got lengths \[2, 3\]"),
        ([np.arange(0)], ValueError, "without rows"),
        ([{"a": np.arange(1)}, {"b": np.arange(1)}], ValueError, "same structure"),
    ],
)
def test_what_is_no_batch_is_refused(elements, error, message):
    with pytest.raises(error, match=message):
        list(of(elements))


def test_pieces_of_different_dtypes_are_promoted():
    (batch,) = of([np.zeros(1, np.int32), np.ones(1)])
    assert batch.dtype == np.float64


@pytest.mark.parametrize(
    "state", [{}, {"parent": {"x": 1}, "batch_idx": 0}, {"parent": {"next_index": 0}, "batch_idx": -1}]
)
def test_a_state_of_another_pipeline_is_refused_and_changes_nothing(state):
    it = iter(ex.RebatchIterDataset(batches(9, 4), 3))
    next(it)
    with pytest.raises(StateError):
        it.set_state(state)
    assert [batch["a"].tolist() for batch in it] == [[3, 4, 5], [6, 7, 8]]


def test_workers_change_neither_batches_nor_states():
    ds = ex.RebatchIterDataset(batches(20, 3), 4)
    with iter(ds.mp_prefetch(grain.MultiprocessingOptions(num_workers=2))) as spread, iter(ds) as plain:
        for batch in plain:
            assert next(spread)["a"].tolist() == batch["a"].tolist()
            assert spread.get_state() == plain.get_state()
