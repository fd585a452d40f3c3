"""Handles of transformations of whole streams: windows, zips, interleaving, limits, repeats, caches, rebatching."""

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeVar, overload

from grain._src import arguments
from grain._src.api.dataset import Dataset, checked_dataset
from grain._src.api.iter_dataset import IterDataset
from grain._src.api.map_dataset import MapDataset
from grain._src.nodes.base import Node
from grain._src.nodes.cache import StreamCache
from grain._src.nodes.interleave import StreamInterleave
from grain._src.nodes.limit import StreamLimit
from grain._src.nodes.rebatch import StreamRebatch
from grain._src.nodes.repeat import StreamRepeat
from grain._src.nodes.window_shuffle import StreamWindowShuffle, WindowShuffle
from grain._src.nodes.zip import StreamZip, Zip

T = TypeVar("T", covariant=True)


class WindowShuffleMapDataset(MapDataset[T]):
    """Shuffles within consecutive windows of `window_size` elements, another way in each window.

    >>> import grain
    >>> list(WindowShuffleMapDataset(grain.MapDataset.range(6), window_size=3, seed=1))
    [1, 2, 0, 3, 5, 4]
    """

    def __init__(self, parent: MapDataset[T], *, window_size: int, seed: int) -> None:
        super().__init__(checked_dataset("parent", parent, MapDataset))
        size = arguments.positive("window_size", window_size)
        self._own_node = WindowShuffle(parent._map_node, size, arguments.seed("seed", seed))


class WindowShuffleIterDataset(IterDataset[T]):
    """Fills a window with `window_size` elements of a stream, shuffles it and hands it out, then the next one.

    >>> import grain
    >>> list(WindowShuffleIterDataset(grain.MapDataset.range(6).to_iter_dataset(), window_size=3, seed=1))
    [0, 2, 1, 4, 5, 3]
    """

    def __init__(self, parent: Dataset[T], *, window_size: int, seed: int) -> None:
        super().__init__(checked_dataset("parent", parent, Dataset))
        size = arguments.positive("window_size", window_size)
        self._own_node = StreamWindowShuffle(parent._node, size, arguments.seed("seed", seed))


class ZipMapDataset(MapDataset[tuple[Any, ...]]):
    """Tuples of the elements of equally long datasets.

    >>> import grain
    >>> ZipMapDataset([grain.MapDataset.range(3), grain.MapDataset.range(10, 13)])[1]
    (1, 11)
    """

    def __init__(self, parents: Sequence[MapDataset[Any]]) -> None:
        super().__init__(parents)
        if not self._parents:
            raise ValueError("parents must hold at least one dataset, got none")
        datasets = [checked_dataset("each of parents", parent, MapDataset) for parent in self._parents]
        lengths = [len(dataset) for dataset in datasets]
        if len(set(lengths)) > 1:
            raise ValueError(f"datasets to zip must be equally long, got lengths {lengths}")
        self._own_node = Zip(tuple(dataset._map_node for dataset in datasets))


class ZipIterDataset(IterDataset[tuple[Any, ...]]):
    """Tuples of the next elements of several streams.

    >>> import grain
    >>> streams = [grain.MapDataset.range(n).to_iter_dataset() for n in (2, 3)]
    >>> list(ZipIterDataset(streams, strict=False))
    [(0, 0), (1, 1)]

    Args:
      parents: the streams.
      strict: whether it is an error if one is longer than another; else all end with the shortest.
    """

    def __init__(self, parents: Sequence[Dataset[Any]], *, strict: bool = True) -> None:
        super().__init__(parents)
        if not self._parents:
            raise ValueError("parents must hold at least one dataset, got none")
        self._own_node = StreamZip(tuple(parent._node for parent in self._parents), arguments.flag("strict", strict))


class InterleaveIterDataset(IterDataset[T]):
    """Takes elements of `cycle_length` streams in turn; where one has ended the next one waiting steps in.

    >>> import grain
    >>> streams = [grain.MapDataset.range(n, n + 2) for n in (0, 10, 20)]
    >>> list(InterleaveIterDataset(streams, cycle_length=2))
    [0, 10, 1, 11, 20, 21]

    It also gives the order that the reference has with several workers, which each see one slice of the data:
    interleave pipelines over `ds[i::n]` with `cycle_length=n`.

    Args:
      datasets: streams or datasets with random access; a MapDataset of such makes each when its turn comes.
      cycle_length: how many are read in turn.
      num_make_iter_threads: threads that start coming streams ahead of their turn; 0 starts each when it is needed.
      make_iter_buffer_size: how many streams are started ahead.
      iter_buffer_size: accepted for compatibility: a stream reads ahead as its own read options say.
    """

    def __init__(
        self,
        datasets: Sequence[Dataset[T]] | MapDataset[Any],
        *,
        cycle_length: int,
        num_make_iter_threads: int = 1,
        make_iter_buffer_size: int = 1,
        iter_buffer_size: int = 1,
    ) -> None:
        super().__init__(datasets)
        if not self._parents:
            raise ValueError("datasets must hold at least one dataset, got none")
        components: Sequence[Node]
        if isinstance(datasets, MapDataset):
            components = _NodesOf(datasets)
        else:
            components = tuple(dataset._node for dataset in self._parents)
        self._own_node = StreamInterleave(
            components,
            arguments.positive("cycle_length", cycle_length),
            arguments.non_negative("num_make_iter_threads", num_make_iter_threads),
            arguments.non_negative("make_iter_buffer_size", make_iter_buffer_size),
            arguments.non_negative("iter_buffer_size", iter_buffer_size),
        )

    def set_slice(self, sl: slice, sequential_slice: bool = False) -> None:
        """Keeps only the streams that `sl` selects.

        Args:
          sl: which streams to keep.
          sequential_slice: accepted for compatibility.
        """
        arguments.flag("sequential_slice", sequential_slice)
        node = self._own_node
        assert isinstance(node, StreamInterleave)
        if isinstance(node.components, tuple):
            self._parents = tuple(self._parents[sl])
        self._own_node = dataclasses.replace(node, components=node.components[sl])


class _NodesOf(Sequence[Node]):
    """The nodes of the datasets that a dataset has for elements."""

    def __init__(self, datasets: MapDataset[Any]) -> None:
        self._datasets = datasets

    def __len__(self) -> int:
        return len(self._datasets)

    @overload
    def __getitem__(self, index: int) -> Node: ...

    @overload
    def __getitem__(self, index: slice) -> "_NodesOf": ...

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return _NodesOf(self._datasets[index])
        dataset = self._datasets[index]
        if not isinstance(dataset, Dataset):
            raise TypeError(f"datasets[{index}] must be a dataset, got {type(dataset).__name__}")
        return dataset._node


class LimitIterDataset(IterDataset[T]):
    """The first `count` elements of a stream.

    >>> import grain
    >>> list(LimitIterDataset(grain.MapDataset.range(9).to_iter_dataset(), count=2))
    [0, 1]
    """

    def __init__(self, parent: Dataset[T], count: int) -> None:
        super().__init__(checked_dataset("parent", parent, Dataset))
        self._own_node = StreamLimit(parent._node, arguments.positive("count", count))


class RepeatIterDataset(IterDataset[T]):
    """A stream `num_epochs` times over, without end by default; every epoch is the same.

    >>> import grain
    >>> list(RepeatIterDataset(grain.MapDataset.range(2).to_iter_dataset(), num_epochs=2))
    [0, 1, 0, 1]
    """

    def __init__(self, parent: Dataset[T], num_epochs: int | None = None) -> None:
        super().__init__(checked_dataset("parent", parent, Dataset))
        if num_epochs is not None:
            num_epochs = arguments.positive("num_epochs", num_epochs)
        self._own_node = StreamRepeat(parent._node, num_epochs)


class CacheIterDataset(IterDataset[T]):
    """Keeps the elements of a stream in memory, so that a `RepeatIterDataset` after it computes them only once.

    >>> import grain
    >>> list(RepeatIterDataset(CacheIterDataset(grain.MapDataset.range(2).to_iter_dataset()), num_epochs=2))
    [0, 1, 0, 1]
    """

    def __init__(self, parent: Dataset[T]) -> None:
        super().__init__(checked_dataset("parent", parent, Dataset))
        self._own_node = StreamCache(parent._node)


class RebatchIterDataset(IterDataset[Any]):
    """Batches of another size out of batches.

    >>> import grain
    >>> ds = grain.MapDataset.range(5).batch(2).to_iter_dataset()
    >>> [batch.tolist() for batch in RebatchIterDataset(ds, batch_size=3)]
    [[0, 1, 2], [3, 4]]

    Args:
      parent: gives trees of arrays that are equally long along their first axis.
      batch_size: how many rows each batch gets.
      drop_remainder: whether to drop a last batch with fewer.
    """

    def __init__(self, parent: Dataset[Any], batch_size: int, drop_remainder: bool = False) -> None:
        super().__init__(checked_dataset("parent", parent, Dataset))
        size, drop = arguments.positive("batch_size", batch_size), arguments.flag("drop_remainder", drop_remainder)
        self._own_node = StreamRebatch(parent._node, size, drop)
