"""Handles of transformations that compute ahead in threads."""

from typing import Any

from grain._src import arguments
from grain._src.api.dataset import Dataset, checked_dataset
from grain._src.api.iter_dataset import IterDataset
from grain._src.engine.ahead import AheadIterator
from grain._src.nodes.prefetch import ThreadPrefetch
from grain._src.nodes.stream import DatasetIterator


class ThreadPrefetchIterDataset(IterDataset[Any]):
    """The same stream, computed ahead by one thread.

    >>> import grain
    >>> list(ThreadPrefetchIterDataset(grain.MapDataset.range(3).to_iter_dataset(), prefetch_buffer_size=2))
    [0, 1, 2]
    """

    def __init__(self, parent: IterDataset[Any], *, prefetch_buffer_size: int) -> None:
        super().__init__(checked_dataset("parent", parent, Dataset))
        size = arguments.non_negative("prefetch_buffer_size", prefetch_buffer_size)
        self._own_node = ThreadPrefetch(parent._node, size)


class ThreadPrefetchDatasetIterator(AheadIterator):
    """Any iterator with `get_state` and `set_state`, computed ahead by one thread."""

    def __init__(self, parent: DatasetIterator[Any], prefetch_buffer_size: int) -> None:
        super().__init__(parent, arguments.positive("prefetch_buffer_size", prefetch_buffer_size))


def multithread_prefetch(
    ds: IterDataset[Any], num_threads: int, buffer_size: int, sequential_slice: bool = False
) -> IterDataset[Any]:
    """Returns the same stream, computed ahead by threads, in the same order whatever their number.

    >>> import grain
    >>> list(multithread_prefetch(grain.MapDataset.range(3).to_iter_dataset(), num_threads=2, buffer_size=2))
    [0, 1, 2]
    """
    checked_dataset("ds", ds, Dataset)
    threads = arguments.non_negative("num_threads", num_threads)
    size = arguments.non_negative("buffer_size", buffer_size)
    arguments.flag("sequential_slice", sequential_slice)
    return ThreadPrefetchIterDataset(ds, prefetch_buffer_size=threads * size)
