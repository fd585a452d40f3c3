"""MapDataset: a dataset with random access."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar, cast, overload

import numpy as np

from grain._src import arguments, transforms
from grain._src.api.apply import apply_transformations
from grain._src.api.dataset import Dataset
from grain._src.api.iter_dataset import IterDataset
from grain._src.indexing.mixture import integer_weights
from grain._src.nodes import batch, combine, elementwise, flat_map, order, source
from grain._src.nodes.base import MapNode, Node
from grain._src.nodes.blame import annotate
from grain._src.nodes.custom import CustomMap
from grain._src.nodes.seeding import resolve_seed
from grain._src.nodes.stream import DatasetIterator
from grain._src.nodes.to_iter import ToIter
from grain._src.options import ReadOptions, checked_read_options
from grain._src.warn import warn

T = TypeVar("T", covariant=True)
S = TypeVar("S")


class MapDataset(Dataset[T]):
    """A dataset with random access: `len(ds)`, `ds[i]`, and transformations that keep both.

    An element is a pure function of its index. Indices may lie past the end: they belong to later epochs.

    >>> ds = MapDataset.range(6).shuffle(seed=1).map(lambda x: x * 10).batch(2)
    >>> len(ds)
    3
    >>> [batch.tolist() for batch in ds]
    [[50, 20], [30, 0], [40, 10]]
    """

    _own_node: MapNode | None = None
    _elsewhere: ClassVar[Mapping[str, str]] = {
        "mp_prefetch": "worker processes compute streams: `ds.to_iter_dataset().mp_prefetch(…)`",
        "prefetch": "worker processes compute streams: `ds.to_iter_dataset().mp_prefetch(…)`",
    }

    def _wrap(self, above: tuple[Node, ...]) -> Node:
        for method in ("__len__", "__getitem__"):
            if getattr(type(self), method) is getattr(MapDataset, method):
                raise NotImplementedError(f"{type(self).__name__} must define `{method}`")
        return CustomMap(self, above)

    @property
    def _map_node(self) -> MapNode:
        return cast(MapNode, self._node)

    @staticmethod
    def source(source: Any) -> MapDataset[Any]:
        """Returns a dataset of the records of `source`: anything with `__len__` and `__getitem__`.

        >>> MapDataset.source(["a", "b"])[1]
        'b'
        """
        return MapDataset._of(_source_node(source))

    @staticmethod
    def range(start: int, stop: int | None = None, step: int = 1) -> MapDataset[int]:
        """Returns a dataset of integers, as Python's `range`.

        >>> list(MapDataset.range(2, 8, 2))
        [2, 4, 6]
        """
        begin, end = (0, start) if stop is None else (start, stop)
        span = arguments.span(begin, end, step)
        return MapDataset._of(source.Range(span.start, span.stop, span.step))

    @staticmethod
    def mix(datasets: Sequence[MapDataset[S]], weights: Sequence[float] | None = None) -> MapDataset[S]:
        """Returns a dataset that takes elements of `datasets` in proportion to `weights`.

        It ends when the first of them does; `repeat` those that should go on.

        >>> list(MapDataset.mix([MapDataset.range(2), MapDataset.range(10, 19)], weights=[1, 2]))
        [0, 10, 11, 1, 12, 13]
        """
        datasets = _datasets("datasets", datasets)
        integers = integer_weights(weights, len(datasets))
        for number, dataset in enumerate(datasets):
            if not len(dataset):
                raise ValueError(f"datasets to mix must not be empty, but number {number} is")
        return MapDataset._of(combine.Mix(tuple(ds._map_node for ds in datasets), integers), datasets)

    @staticmethod
    def select_from_datasets(
        datasets: Sequence[MapDataset[S]], selection_map: transforms.DatasetSelectionMap
    ) -> MapDataset[S]:
        """Returns a dataset whose element i is the one that `selection_map[i]` = (dataset, index) names."""
        datasets = _datasets("datasets", datasets)
        if not hasattr(type(selection_map), "__len__") or not hasattr(type(selection_map), "__getitem__"):
            raise TypeError(f"selection_map must have `__len__` and `__getitem__`, got {selection_map!r}")
        if isinstance(selection_map, str | bytes):
            raise TypeError(f"selection_map must give (dataset, index) for each index, got the text {selection_map!r}")
        return MapDataset._of(combine.Select(tuple(ds._map_node for ds in datasets), selection_map), datasets)

    @staticmethod
    def concatenate(datasets: Sequence[MapDataset[S]]) -> MapDataset[S]:
        """Returns the datasets one after the other.

        >>> list(MapDataset.concatenate([MapDataset.range(2), MapDataset.range(5, 7)]))
        [0, 1, 5, 6]
        """
        datasets = _datasets("datasets", datasets, least=0)
        if any(len(dataset) == sys.maxsize for dataset in datasets):
            raise ValueError("a dataset that repeats without end cannot be concatenated: call `repeat` on the result")
        return MapDataset._of(combine.Concatenate(tuple(ds._map_node for ds in datasets)), datasets)

    def __len__(self) -> int:
        return self._map_node.length

    @overload
    def __getitem__(self, index: slice) -> MapDataset[T]: ...

    @overload
    def __getitem__(self, index: int) -> T: ...

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.slice(index)
        position = index if type(index) is int else arguments.integer("index", index)
        try:
            return self._map_node.get(position)
        except Exception as error:
            annotate(error, self._map_node, position)
            raise

    def __iter__(self) -> DatasetIterator[T]:
        return self.to_iter_dataset().__iter__()

    def map(self, transform: transforms.Map | Callable[[T], S]) -> MapDataset[S]:
        """Returns a dataset with `transform` applied to each element.

        >>> MapDataset.range(3).map(lambda x: x + 1)[2]
        3
        """
        function = transforms.method_of(transform, transforms.Map, "map")
        return MapDataset._of(elementwise.Map(self._map_node, function), (self,))

    def map_with_index(self, transform: transforms.MapWithIndex | Callable[[int, T], S]) -> MapDataset[S]:
        """Returns a dataset with `transform` applied to each index and element.

        >>> list(MapDataset.range(5, 7).map_with_index(lambda i, x: (i, x)))
        [(0, 5), (1, 6)]
        """
        function = transforms.method_of(transform, transforms.MapWithIndex, "map_with_index")
        return MapDataset._of(elementwise.MapWithIndex(self._map_node, function), (self,))

    def random_map(
        self, transform: transforms.RandomMap | Callable[[T, np.random.Generator], S], *, seed: int | None = None
    ) -> MapDataset[S]:
        """Returns a dataset with `transform` applied to each element and a generator of its own.

        The numbers depend on the seed and the index only; without `seed` it derives one from `ds.seed(…)`.

        >>> ds = MapDataset.range(3).random_map(lambda x, rng: x + rng.random(), seed=1)
        >>> ds[1] == ds[1]
        True
        """
        function = transforms.random_method_of(transform)
        seed = resolve_seed(seed, [self._node], "random_map")
        return MapDataset._of(elementwise.RandomMap(self._map_node, function, seed), (self,))

    def filter(self, transform: transforms.Filter | Callable[[T], bool]) -> MapDataset[T]:
        """Returns a dataset with holes (None) where `transform` says no; iterating passes over them.

        >>> ds = MapDataset.range(4).filter(lambda x: x % 2)
        >>> len(ds), ds[0], list(ds)
        (4, None, [1, 3])
        """
        function = transforms.method_of(transform, transforms.Filter, "filter")
        return MapDataset._of(elementwise.Filter(self._map_node, function), (self,))

    def batch(
        self,
        batch_size: int,
        *,
        drop_remainder: bool = False,
        batch_fn: Callable[[Sequence[T]], S] | None = None,
    ) -> MapDataset[S]:
        """Returns a dataset of batches: each leaf of `batch_size` consecutive elements stacked along a new first axis.

        >>> MapDataset.range(5).batch(2)[2]
        array([4])
        """
        size = arguments.positive("batch_size", batch_size)
        if batch_fn is not None:
            arguments.function("batch_fn", batch_fn)
        if self._map_node.filtered:
            raise ValueError(
                "`MapDataset.batch` can not follow `MapDataset.filter` or `flat_map`, which leave holes. Convert to an "
                "`IterDataset` with `to_iter_dataset()` before calling `batch`."
            )
        drop = arguments.flag("drop_remainder", drop_remainder)
        return MapDataset._of(batch.Batch(self._map_node, size, drop, batch_fn), (self,))

    def repeat(self, num_epochs: int | None = None, *, reseed_each_epoch: bool = True) -> MapDataset[T]:
        """Returns the dataset `num_epochs` times over, without end by default.

        Each epoch shuffles and randomizes anew unless `reseed_each_epoch` is False.

        >>> list(MapDataset.range(3).shuffle(seed=1).repeat(2))
        [1, 2, 0, 0, 2, 1]
        """
        if num_epochs is not None and arguments.integer("num_epochs", num_epochs) < 1:
            raise ValueError(f"num_epochs must be a positive integer or None, got {num_epochs!r}")
        if len(self) == sys.maxsize:
            raise ValueError("the dataset repeats without end already: repeating it again has no effect")
        reseed = arguments.flag("reseed_each_epoch", reseed_each_epoch)
        return MapDataset._of(order.Repeat(self._map_node, num_epochs, reseed), (self,))

    def shuffle(self, seed: int | None = None) -> MapDataset[T]:
        """Returns the elements in a pseudo-random order, another one each epoch; it takes no memory and no time.

        >>> list(MapDataset.range(5).shuffle(seed=3))
        [4, 3, 0, 1, 2]
        """
        return MapDataset._of(order.Shuffle(self._map_node, resolve_seed(seed, [self._node], "shuffle")), (self,))

    def slice(self, sl: slice | Sequence[int]) -> MapDataset[T]:
        """Returns the elements that a slice, or a sequence of indices, selects.

        >>> list(MapDataset.range(10)[1::4]), list(MapDataset.range(10).slice([7, 7, 2]))
        ([1, 5, 9], [7, 7, 2])
        """
        if isinstance(sl, slice):
            start, stop, step = sl.indices(len(self))
            return MapDataset._of(order.Slice(self._map_node, start, stop, step), (self,))
        return MapDataset._of(order.Pick(self._map_node, _picks(sl, len(self))), (self,))

    def seed(self, seed: int) -> MapDataset[T]:
        """Returns the same dataset; random transformations after it derive their seeds from `seed`.

        >>> list(MapDataset.range(4).seed(1).shuffle())
        [1, 0, 2, 3]
        """
        return MapDataset._of(order.Seed(self._map_node, arguments.non_negative("seed", seed)), (self,))

    def apply(self, transformations: transforms.Transformation | transforms.Transformations) -> MapDataset[Any]:
        """Returns the dataset with one or several transformations applied, in order.

        >>> from grain.transforms import Batch
        >>> MapDataset.range(4).apply([Batch(2), Batch(2)])[0].shape
        (2, 2)
        """
        return apply_transformations(self, transformations)

    def _flat_map(self, transform: transforms.FlatMap) -> MapDataset[Any]:
        function, most = transforms.flat_method_of(transform)
        node = flat_map.FlatMap(self._map_node, function, most)
        return MapDataset._of(node, (self,))

    def to_iter_dataset(self, read_options: ReadOptions | None = None, *, allow_nones: bool = False) -> IterDataset[T]:
        """Returns a stream of the elements without the holes, read ahead by threads as `read_options` says.

        >>> it = iter(MapDataset.range(3).to_iter_dataset())
        >>> next(it), it.get_state()
        (0, {'next_index': 1})
        """
        options = checked_read_options(read_options)
        nones = arguments.flag("allow_nones", allow_nones)
        return IterDataset._of(ToIter(self._map_node, options, nones), (self,))


def check_records(records: Any) -> None:
    """Raises TypeError unless `records` can be read as a source."""
    for method in ("__len__", "__getitem__"):
        if not hasattr(type(records), method):
            raise TypeError(
                f"a source must have `__len__` and `__getitem__`, but {type(records).__name__} has no `{method}`. "
                "Put the records of a generator or iterator into a list or a file first, or subclass grain.IterDataset."
            )
    if isinstance(records, np.ndarray) and not records.ndim:
        raise TypeError(f"a source must have records, but an array without dimensions has none, got {records!r}")
    if isinstance(records, Mapping):
        raise TypeError(
            f"a source is indexed by 0…len-1, but {type(records).__name__} is a mapping. Use `list(mapping.items())`, or "
            "for a dict of equally long arrays grain.sources.ArrayDataSource."
        )


def _source_node(records: Any) -> MapNode:
    check_records(records)
    if isinstance(records, MapDataset):
        return records._map_node
    if isinstance(records, str) and os.path.isfile(records):
        warn(
            f"the source is the text {records!r} itself, a character a record, and not the file of that name. To read "
            f"the file, pass for instance grain.sources.ArrayRecordDataSource({records!r}).",
        )
    return source.Source(records)


def _datasets(name: str, datasets: Sequence[MapDataset[Any]], least: int = 1) -> list[MapDataset[Any]]:
    given = arguments.sequence(name, datasets, "MapDatasets")
    if len(given) < least:
        raise ValueError(f"{name} must hold at least one dataset, got none")
    for dataset in given:
        if not isinstance(dataset, MapDataset):
            raise TypeError(f"{name} must be MapDatasets, got {type(dataset).__name__}")
    return given


def _picks(indices: Any, length: int) -> Any:
    """Returns indices to pick, checked where they are at hand."""
    if isinstance(indices, MapDataset):
        return indices
    if isinstance(indices, str | bytes) or not hasattr(indices, "__len__"):
        raise ValueError(f"slice takes a slice or a sequence of indices, got {type(indices).__name__}")
    array = np.asarray(indices)
    if not array.size:
        return np.zeros(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"slice takes a slice or a sequence of integers, got {array.dtype}{list(array.shape)}")
    if array.min() < -length or array.max() >= length:
        raise IndexError(f"indices must be between {-length} and {length - 1}, got {array.min()} to {array.max()}")
    return np.where(array < 0, array + length, array).astype(np.int64)
