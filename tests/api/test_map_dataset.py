"""MapDataset: what each transformation gives by index, in order, past the end and before the start."""

import functools
import operator
import sys

import numpy as np
import pytest

import grain
from grain.transforms import Batch, DatasetSelectionMap, Filter, FlatMap, Map, MapWithIndex, RandomMap, TfRandomMap

M = grain.MapDataset


def lists(ds):
    return [batch.tolist() for batch in ds]


class Selection(DatasetSelectionMap):
    def __init__(self, *pairs):
        self.pairs = pairs

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, index):
        return self.pairs[index % len(self.pairs)]


class Double(Map):
    def map(self, element):
        return element * 2


class Jitter(RandomMap):
    def random_map(self, element, rng):
        return element, int(rng.integers(1000))


class OldJitter(TfRandomMap):
    def np_random_map(self, element, rng):
        return element, int(rng.integers(1000))


class Numbered(MapWithIndex):
    def map_with_index(self, index, element):
        return index, element


class Odd(Filter):
    def filter(self, element):
        return element % 2 == 1


class Spread(FlatMap):
    max_fan_out = 3

    def flat_map(self, element):
        return [element] * (element % 4 if element % 4 < 3 else 0)


# Each with what indices -len … 2 * len - 1 give: later epochs repeat, negative indices are earlier ones.
@pytest.mark.parametrize(
    ("ds", "expected"),
    [
        (M.range(3), [0, 1, 2]),
        (M.range(2, 8, 2), [2, 4, 6]),
        (M.range(5, 1, -2), [5, 3]),
        (M.source(["a", "b"]), ["a", "b"]),
        (M.source("xyz"), ["x", "y", "z"]),
        (M.source(np.array([1.5, 2.5])), [1.5, 2.5]),
        (M.source(M.range(4)[::2]), [0, 2]),
        (M.range(4)[1:3], [1, 2]),
        (M.range(10)[::-4], [9, 5, 1]),
        (M.range(10)[-3:100], [7, 8, 9]),
        (M.range(10).slice(slice(1, 4)), [1, 2, 3]),
        (M.range(10).slice([7, 7, -1]), [7, 7, 9]),
        (M.range(10).slice(np.array([3, 1], np.uint8)), [3, 1]),
        (M.range(10).slice(range(2, 5)), [2, 3, 4]),
        (M.range(10).slice(M.range(2, 5).map(lambda x: x * 2)), [4, 6, 8]),
        (M.range(10).map_with_index(lambda i, x: i % 10).slice(M.range(-2, 1)), [8, 9, 0]),
        (M.range(3).map(lambda x: x * 10), [0, 10, 20]),
        (M.range(3).map(Double()), [0, 2, 4]),
        (M.range(3).map(functools.partial(operator.add, 1)), [1, 2, 3]),
        (M.range(3).filter(lambda x: x != 1), [0, None, 2]),
        (M.range(3).filter(Odd()), [None, 1, None]),
        (M.range(3).filter(Odd()).map(str), [None, "1", None]),
        (M.range(3).map(lambda x: None if x == 1 else x).map(lambda x: x + 1), [1, None, 3]),
        (M.range(4).apply(Spread()), [None] * 3 + [1, None, None, 2, 2, None] + [None] * 3),
        (grain.experimental.FlatMapMapDataset(M.range(2), Spread()), [None] * 3 + [1, None, None]),
        (M.range(2).seed(3), [0, 1]),
        (M.concatenate([M.range(2), M.range(0), M.range(5, 7)]), [0, 1, 5, 6]),
        (M.mix([M.range(3), M.range(10, 13)]), [0, 10, 1, 11, 2, 12]),
        (M.select_from_datasets([M.range(3), M.range(10, 13)], Selection((1, 2), (0, 0))), [12, 0]),
        (M.range(2).pipe(lambda ds, k: ds.map(lambda x: x + k), k=5), [5, 6]),
        (M.range(3).apply([Double(), Odd()]), [None, None, None]),
    ],
    ids=lambda value: None if isinstance(value, list) else str(value).replace("\n", "|")[:60],
)
def test_elements_by_index_and_past_both_ends(ds, expected):
    n = len(expected)
    assert len(ds) == n
    assert [ds[i] for i in range(-n, 2 * n)] == expected * 3
    assert list(ds) == [element for element in expected if element is not None]
    assert list(ds.to_iter_dataset(allow_nones=True)) == expected


def test_batches_do_not_cross_epochs():
    ds = M.range(5).batch(2)
    assert len(ds) == 3
    assert [ds[i].tolist() for i in range(-1, 5)] == [[4], [0, 1], [2, 3], [4], [0, 1], [2, 3]]
    dropped = M.range(5).batch(2, drop_remainder=True)
    assert len(dropped) == 2
    assert [dropped[i].tolist() for i in range(4)] == [[0, 1], [2, 3]] * 2


def test_batch_fn_gets_a_list_and_may_give_a_hole():
    ds = M.range(5).batch(2, batch_fn=lambda elements: elements if len(elements) == 2 else None)
    assert [ds[i] for i in range(3)] == [[0, 1], [2, 3], None]
    assert list(ds) == [[0, 1], [2, 3]]


def test_batch_as_a_transformation():
    assert lists(M.range(4).apply(Batch(3))) == [[0, 1, 2], [3]]
    assert lists(M.range(4).apply(Batch(batch_size=3, drop_remainder=True))) == [[0, 1, 2]]
    assert list(M.range(4).apply([Double(), Batch(2, batch_fn=sum)])) == [2, 10]


def test_shuffle_orders_each_epoch_anew_and_holds_every_element_once():
    ds = M.range(100).shuffle(seed=3)
    epochs = [[ds[100 * epoch + i] for i in range(100)] for epoch in range(3)]
    assert all(sorted(epoch) == list(range(100)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]
    assert list(ds.repeat(3)) == [*epochs[0], *epochs[1], *epochs[2]]
    assert list(ds.repeat(2, reseed_each_epoch=False)) == epochs[0] * 2


def test_random_map_depends_on_seed_and_full_index_only():
    ds = M.range(5).random_map(Jitter(), seed=7)
    everything = [ds[i] for i in range(15)]
    assert [element for element, _ in everything] == list(range(5)) * 3
    assert len({drawn for _, drawn in everything}) > 10
    assert list(ds.repeat(3)) == everything
    assert list(ds.repeat(2, reseed_each_epoch=False)) == everything[:5] * 2
    assert ds[7] == everything[7]
    assert M.range(5).random_map(OldJitter(), seed=7)[7] == everything[7]
    assert M.range(5).random_map(Jitter(), seed=8)[7] != everything[7]


def test_seeds_are_derived_from_where_they_are_used():
    base = M.range(50).seed(5)
    assert list(base.shuffle()) == list(M.range(50).seed(5).shuffle())
    assert list(base.shuffle()) != list(base.map(lambda x: x).shuffle())
    assert list(base.shuffle()) != list(M.range(50).seed(6).shuffle())
    assert list(base.shuffle(seed=1)) == list(M.range(50).shuffle(seed=1))
    mixed = M.mix([M.range(50).seed(1), M.range(50).seed(2)])
    assert list(mixed.shuffle()) != list(M.mix([M.range(50).seed(2), M.range(50).seed(1)]).shuffle())


def test_map_with_index_counts_through_the_epochs():
    ds = M.range(5, 7).map_with_index(Numbered())
    assert [ds[i] for i in range(4)] == [(0, 5), (1, 6), (2, 5), (3, 6)]


def test_concatenation_goes_through_the_epochs_of_every_part():
    part = M.range(2).map_with_index(lambda i, x: (i, x))
    ds = M.concatenate([part, part])
    assert [ds[i] for i in range(8)] == [(0, 0), (1, 1)] * 2 + [(2, 0), (3, 1)] * 2


def test_a_mixture_ends_with_its_first_part_and_takes_later_epochs_of_each():
    ds = M.mix([M.range(2), M.range(10, 19)], weights=[1, 2])
    assert len(ds) == 6
    assert list(ds) == [0, 10, 11, 1, 12, 13]
    assert [ds[i] for i in range(6, 12)] == [0, 14, 15, 1, 16, 17]


def test_repeat_without_end_has_the_largest_length():
    ds = M.range(3).repeat()
    assert len(ds) == sys.maxsize
    assert ds[10**15] == 10**15 % 3
    assert len(M.range(0).repeat()) == 0
    assert list(M.range(0).repeat()) == []
    it = iter(ds)
    assert [next(it) for _ in range(7)] == [0, 1, 2, 0, 1, 2, 0]
    it.close()


def test_a_slice_keeps_to_the_epochs_of_its_parent():
    ds = M.range(4).map_with_index(lambda i, x: i)[1:3]
    assert [ds[i] for i in range(4)] == [1, 2, 5, 6]


@pytest.mark.parametrize("index", [2**61, 2**62, 2**63, 2**70])
def test_a_batch_has_any_index(index):
    ds = grain.MapDataset.range(5).map(lambda x: x).batch(3)
    assert ds[index].tolist() == [0, 1, 2]
    assert ds[index + 1].tolist() == [3, 4]
    assert grain.MapDataset.range(5).batch(3)[index].tolist() == [0, 1, 2]


def test_a_huge_dataset_is_only_arithmetic():
    ds = M.mix([M.range(10**15).shuffle(seed=1), M.range(10**15).shuffle(seed=2).repeat()]).shuffle(seed=3)
    assert len(ds) == 2 * 10**15
    assert len({ds[i] for i in range(0, 10**15, 10**13)}) == 100
    batch = ds[5:].batch(4)[10**12]
    assert batch.tolist() == [ds[5 + 4 * 10**12 + i] for i in range(4)]


NOTHING = M.source([])
EMPTY = [
    NOTHING,
    NOTHING.map(str),
    NOTHING.shuffle(seed=1),
    NOTHING.batch(2),
    NOTHING.repeat(3),
    NOTHING.repeat(3, reseed_each_epoch=False),
    NOTHING.filter(bool),
    NOTHING[1:],
    M.range(0),
    M.range(5)[3:3],
    M.range(5)[3:3].filter(bool),
    M.range(5).slice([]),
    M.concatenate([NOTHING, NOTHING]),
    NOTHING.random_map(lambda x, rng: x, seed=1),
    NOTHING.apply(Spread()),
    NOTHING.pipe(grain.experimental.WindowShuffleMapDataset, window_size=3, seed=1),
]


class EverySecond(grain.transforms.DatasetSelectionMap):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        return index % 2, index // 2


@pytest.mark.parametrize("ds", EMPTY)
def test_empty_datasets_are_empty_everywhere(ds):
    assert len(ds) == 0
    assert list(ds) == []
    assert list(ds.to_iter_dataset()) == []


@pytest.mark.parametrize("empty", EMPTY)
@pytest.mark.parametrize("threads", [0, 2])
def test_an_element_of_an_empty_dataset_is_an_error_at_its_place(empty, threads):
    with pytest.raises(IndexError, match="of an empty dataset"):
        empty[3]
    chosen = M.select_from_datasets([M.range(5), empty], EverySecond())
    for iterator in (iter(chosen), iter(chosen.to_iter_dataset(grain.ReadOptions(threads, 4)))):
        assert next(iterator) == 0
        with pytest.raises(IndexError, match="of an empty dataset"):
            next(iterator)


@pytest.mark.parametrize("index", [np.int64(2), np.uint8(2), True])
def test_anything_that_is_an_integer_is_an_index(index):
    assert M.range(5)[index] == int(index)


@pytest.mark.parametrize("index", [2.0, "a", [1], None])
def test_anything_else_is_refused_as_an_index(index):
    with pytest.raises(TypeError, match="index must be an integer, got"):
        M.range(5)[index]


def test_rows_of_an_array_are_the_users_own():
    array = np.arange(6).reshape(3, 2)
    for row in M.source(array):
        row[:] = -1
    assert array.tolist() == [[0, 1], [2, 3], [4, 5]]


def test_parents_are_the_datasets_that_were_transformed():
    base = M.range(3)
    assert base.map(str).parents == (base,)
    assert M.mix([base, base]).parents == (base, base)
    assert list(base.parents) == []


def test_every_method_returns_a_new_dataset():
    base = M.range(3)
    base.map(lambda x: x + 1).filter(lambda x: x > 1)
    assert list(base) == [0, 1, 2]


def test_a_batch_of_strings_is_as_wide_as_its_longest():
    ds = grain.MapDataset.source(np.array(["a", "bb", "ccc"])).batch(2)
    assert [batch.dtype.str for batch in ds] == ["<U2", "<U3"]
    assert next(iter(ds.to_iter_dataset())).tolist() == ["a", "bb"]
