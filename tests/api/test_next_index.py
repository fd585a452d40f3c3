"""Where an iterator is, as one number."""

import numpy as np
import pytest

import grain
from grain import experimental as ex

INLINE = grain.ReadOptions(0, 0)
M = grain.MapDataset


def stream(length=20):
    return M.range(length).to_iter_dataset(INLINE)


KNOWN = {
    "dataset": M.range(20),
    "batches": M.range(20).batch(3),
    "stream": stream(),
    "map": stream().map(lambda x: x + 1),
    "map_with_index": stream().map_with_index(lambda i, x: (i, x)),
    "random_map": stream().random_map(lambda x, rng: int(rng.integers(1 << 30)), seed=1),
    "batched stream": stream().batch(3),
    "batches of batches": stream().batch(2).map(lambda x: x * 2).batch(3),
    "drop_remainder": stream().batch(3, drop_remainder=True),
    "numbered batches": stream().batch(3).map_with_index(lambda i, x: (i, x)),
    "limit": ex.LimitIterDataset(stream(), 15),
    "batches of a limit": ex.LimitIterDataset(stream(), 10).batch(4),
    "seed": stream().seed(1),
    "shuffled": M.range(20).shuffle(seed=1).repeat(2).to_iter_dataset(INLINE),
    "thread": ex.ThreadPrefetchIterDataset(stream(), prefetch_buffer_size=2),
}


def plain(element):
    return element.tolist() if isinstance(element, np.ndarray) else repr(element)


@pytest.mark.parametrize("ds", KNOWN.values(), ids=KNOWN)
def test_the_index_counts_elements_and_goes_anywhere(ds):
    elements = [plain(element) for element in ds]
    it = iter(ds)
    for index, element in enumerate(elements):
        assert ex.get_next_index(it) == index
        assert plain(next(it)) == element
    for index in (0, 2, len(elements) - 1, 1):
        ex.set_next_index(it, index)
        assert ex.get_next_index(it) == index
        assert plain(next(it)) == elements[index]
    ex.set_next_index(it, len(elements))
    assert list(it) == []


def test_a_distant_index_reads_nothing_before_it():
    read = []
    ds = M.range(10**9).map(lambda x: (read.append(x), x)[1]).to_iter_dataset(INLINE).batch(2)
    it = iter(ds)
    ex.set_next_index(it, 10**8)
    next(it)
    assert read == [2 * 10**8, 2 * 10**8 + 1]


def test_workers_have_the_same_index():
    ds = stream().map(lambda x: x + 1).batch(3).mp_prefetch(grain.MultiprocessingOptions(num_workers=1))
    with iter(ds) as it:
        next(it)
        assert ex.get_next_index(it) == 1
        ex.set_next_index(it, 4)
        assert next(it).tolist() == [13, 14, 15]


UNKNOWN = {
    "filter": stream().filter(lambda x: True),
    "mix": grain.IterDataset.mix([stream(), stream()]),
    "batches with holes": M.range(20).filter(lambda x: x % 2).to_iter_dataset().batch(2),
    "window": ex.WindowShuffleIterDataset(stream(), window_size=3, seed=1),
    "zip": ex.ZipIterDataset([stream(), stream()]),
    "batches of a zip": ex.ZipIterDataset([stream(), stream()]).batch(2),
}


@pytest.mark.parametrize("ds", UNKNOWN.values(), ids=UNKNOWN)
def test_where_it_is_not_known_it_says_after_what(ds):
    it = iter(ds)
    with pytest.raises(NotImplementedError, match="not known after `"):
        ex.get_next_index(it)
    with pytest.raises(NotImplementedError, match="not known after `"):
        ex.set_next_index(it, 1)


@pytest.mark.parametrize("index", [-1, 21])
def test_an_index_outside_is_refused_and_changes_nothing(index):
    it = iter(stream())
    next(it)
    with pytest.raises(IndexError, match=f"between 0 and the number of elements, 20, got {index}"):
        ex.set_next_index(it, index)
    assert next(it) == 1


def test_only_iterators_have_an_index():
    with pytest.raises(TypeError, match=r"ds_iter must be a grain\.DatasetIterator"):
        ex.get_next_index(stream())
