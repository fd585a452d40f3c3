"""Batches of large arrays, which are filled row by row: the same as those of small ones."""

import numpy as np
import pytest

import grain
from grain._src import trees
from grain._src.conformance.equality import same
from grain._src.nodes.row_batch import LARGE_BYTES

M = grain.MapDataset
N = LARGE_BYTES  # bytes of an array that counts as large


def large(i, dtype="u1"):
    return np.full(N, i, dtype)


def both_ways(elements, size):
    """The batches with random access, and those of the stream."""
    with_access = M.source(elements).batch(size)
    return [list(with_access), list(M.source(elements).to_iter_dataset().batch(size))]


def expected(elements, size):
    return [trees.stack(elements[at : at + size]) for at in range(0, len(elements), size)]


ELEMENTS = {
    "arrays": [large(i) for i in range(7)],
    "of floats, two dimensions": [large(i, "f4").reshape(-1, 8) for i in range(7)],
    "dicts": [{"image": large(i), "label": i, "name": f"n{i}"} for i in range(7)],
    "two large ones and nested small ones": [
        {"meta": {"a": [i, i]}, "x": large(i), "y": large(i, "i2")} for i in range(7)
    ],
    "views with gaps": [np.arange(4 * N, dtype="u2").reshape(-1, 4)[:, ::-2] + i for i in range(7)],
    "not in native order": [large(i, ">u4") for i in range(7)],
    "objects": [large(i, "O") for i in range(3)],
    "a large one among nested": [{"deep": {"image": large(i)}, "label": i} for i in range(5)],
    "one dtype changes": [large(i, "u1" if i != 4 else "u2") for i in range(7)],
    "one is of a subclass": [np.ma.array(large(i)) if i == 2 else large(i) for i in range(5)],
    "keys in another order": [{"x": large(i), "label": i} if i != 2 else {"label": i, "x": large(i)} for i in range(5)],
}


@pytest.mark.parametrize("elements", ELEMENTS.values(), ids=ELEMENTS)
@pytest.mark.parametrize("size", [1, 2, 5, 7, 9])
def test_batches_are_what_stacking_gives(elements, size):
    for batches in both_ways(elements, size):
        assert same(batches, expected(elements, size))


@pytest.mark.parametrize(
    "odd", [large(9)[:-1], {"x": large(9)}, 3, np.full((N, 1), 9, "u1")], ids=["shorter", "dict", "int", "deeper"]
)
@pytest.mark.parametrize("place", [1, 3])
def test_what_does_not_fit_is_said_as_for_small_ones(odd, place):
    elements = [large(i) for i in range(4)]
    elements[place] = odd
    with pytest.raises(ValueError, match="Expected all input elements to have the same structure"):
        M.source(elements).batch(4)[0]
    with pytest.raises(ValueError, match="Expected all input elements to have the same structure"):
        next(iter(M.source(elements).to_iter_dataset().batch(4)))


def test_elements_stay_as_they_are_and_the_batch_is_the_users():
    elements = [{"x": large(i), "label": i} for i in range(4)]
    for batches in both_ways(elements, 4):
        batches[0]["x"][:] = 99
    assert same(elements[3], {"x": large(3), "label": 3})


def test_a_remainder_does_not_keep_the_memory_of_a_whole_batch():
    for batches in both_ways([large(i) for i in range(9)], 8):
        last = batches[-1]
        assert last.base is None or last.base.nbytes == last.nbytes


def test_a_batch_that_can_never_become_full_takes_no_memory_for_it():
    elements = [large(i) for i in range(3)]
    for batches in both_ways(elements, 10**12):
        assert same(batches[0], np.stack(elements))


def test_a_dropped_remainder_is_not_stacked():
    elements = [large(0), large(1), large(2), large(3)[:-1]]
    ds = M.source(elements)
    assert len(list(ds.to_iter_dataset().batch(3, drop_remainder=True))) == 1
    assert len(list(ds.batch(3, drop_remainder=True))) == 1


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_within_a_batch_leaves_the_iterator_where_the_batch_began(workers):
    failing = [True]

    def fails_once(x):
        if x == 5 and failing:
            failing.clear()
            raise KeyError(x)
        return large(x)

    ds = M.range(12).map(fails_once).batch(3).to_iter_dataset(grain.ReadOptions(0, 0))
    if workers:
        ds = ds.mp_prefetch(grain.MultiprocessingOptions(workers))
    with iter(ds) as iterator:
        assert next(iterator)[2, 0] == 2
        with pytest.raises(KeyError):
            next(iterator)
        assert iterator.get_state() == {"next_index": 1}
