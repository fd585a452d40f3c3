"""IterDataset: a stream of elements with a state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from grain._src import arguments, transforms
from grain._src.api.apply import apply_transformations
from grain._src.api.dataset import Dataset
from grain._src.engine.run import iterate, on_workers
from grain._src.indexing.mixture import integer_weights
from grain._src.nodes import batch, flat_map, steps
from grain._src.nodes.base import Node
from grain._src.nodes.custom import CustomStream
from grain._src.nodes.mix import StreamMix
from grain._src.nodes.seeding import resolve_seed
from grain._src.nodes.stream import DatasetIterator
from grain._src.options import MultiprocessingOptions

T = TypeVar("T", covariant=True)
S = TypeVar("S")


class IterDataset(Dataset[T]):
    """A stream of elements; `iter(ds)` gives a `DatasetIterator` with `get_state` and `set_state`.

    >>> import grain
    >>> ds = grain.MapDataset.range(6).to_iter_dataset().filter(lambda x: x % 2).batch(2)
    >>> [batch.tolist() for batch in ds]
    [[1, 3], [5]]
    """

    _elsewhere: ClassVar[Mapping[str, str]] = {
        "shuffle": "call it on the MapDataset, before `to_iter_dataset()`, or shuffle within windows with "
        "`ds.pipe(grain.experimental.WindowShuffleIterDataset, window_size=…, seed=…)`",
        "repeat": "call it on the MapDataset, before `to_iter_dataset()`, or use "
        "`ds.pipe(grain.experimental.RepeatIterDataset, num_epochs=…)`",
        "slice": "call it on the MapDataset, before `to_iter_dataset()`, or use "
        "`ds.pipe(grain.experimental.LimitIterDataset, count=…)`",
    }

    def _wrap(self, above: tuple[Node, ...]) -> Node:
        return CustomStream(self, above)

    def __iter__(self) -> DatasetIterator[T]:
        if self._own_node is None or isinstance(self._own_node, CustomStream):
            raise NotImplementedError(
                f"{type(self).__name__} must define `__iter__`, returning a grain.DatasetIterator"
            )
        iterator = iterate(self._own_node)
        iterator._pipeline = self._own_node
        return iterator

    @staticmethod
    def mix(
        datasets: Sequence[IterDataset[S]] | Mapping[str, IterDataset[S]],
        weights: Sequence[float] | Mapping[str, float] | None = None,
    ) -> IterDataset[S]:
        """Returns a stream that takes elements of `datasets` in proportion to `weights`, until one runs out.

        >>> import grain
        >>> a, b = grain.MapDataset.range(3).to_iter_dataset(), grain.MapDataset.range(10, 20).to_iter_dataset()
        >>> list(IterDataset.mix({"a": a, "b": b}, weights={"a": 1, "b": 2}))
        [0, 10, 11, 1, 12, 13, 2, 14, 15]
        """
        keys: tuple[str, ...] | None = None
        if isinstance(datasets, Mapping):
            keys = tuple(sorted(datasets))
            if weights is not None:
                if not isinstance(weights, Mapping) or set(weights) != set(keys):
                    raise ValueError(
                        f"weights must be a mapping with the keys of datasets, {list(keys)}, got {weights!r}"
                    )
                weights = [weights[key] for key in keys]
            datasets = [datasets[key] for key in keys]
        elif isinstance(weights, Mapping):
            raise ValueError(f"weights must be a sequence when datasets is one, got {weights!r}")
        given = arguments.sequence("datasets", datasets, "IterDatasets")
        if not given:
            raise ValueError("datasets must hold at least one dataset, got none")
        for dataset in given:
            if not isinstance(dataset, Dataset):
                raise TypeError(f"datasets must be IterDatasets, got {type(dataset).__name__}")
        node = StreamMix(tuple(ds._node for ds in given), integer_weights(weights, len(given)), keys)
        return IterDataset._of(node, given)

    def map(self, transform: transforms.Map | Callable[[T], S]) -> IterDataset[S]:
        """Returns a stream with `transform` applied to each element."""
        function = transforms.method_of(transform, transforms.Map, "map")
        return IterDataset._of(steps.StreamMap(self._node, function), (self,))

    def map_with_index(self, transform: transforms.MapWithIndex | Callable[[int, T], S]) -> IterDataset[S]:
        """Returns a stream with `transform` applied to each running number and element."""
        function = transforms.method_of(transform, transforms.MapWithIndex, "map_with_index")
        return IterDataset._of(steps.StreamMapWithIndex(self._node, function), (self,))

    def random_map(
        self, transform: transforms.RandomMap | Callable[[T, np.random.Generator], S], *, seed: int | None = None
    ) -> IterDataset[S]:
        """Returns a stream with `transform` applied to each element and a generator of its own."""
        function = transforms.random_method_of(transform)
        seed = resolve_seed(seed, [self._node], "random_map")
        return IterDataset._of(steps.StreamRandomMap(self._node, function, seed), (self,))

    def filter(self, transform: transforms.Filter | Callable[[T], bool]) -> IterDataset[T]:
        """Returns a stream of the elements for which `transform` says yes."""
        function = transforms.method_of(transform, transforms.Filter, "filter")
        return IterDataset._of(steps.StreamFilter(self._node, function), (self,))

    def batch(
        self,
        batch_size: int,
        *,
        drop_remainder: bool = False,
        batch_fn: Callable[[Sequence[T]], S] | None = None,
    ) -> IterDataset[S]:
        """Returns a stream of batches: each leaf of consecutive elements stacked along a new first axis."""
        size = arguments.positive("batch_size", batch_size)
        if batch_fn is not None:
            arguments.function("batch_fn", batch_fn)
        drop = arguments.flag("drop_remainder", drop_remainder)
        return IterDataset._of(batch.StreamBatch(self._node, size, drop, batch_fn), (self,))

    def mp_prefetch(
        self,
        options: MultiprocessingOptions | None = None,
        worker_init_fn: Callable[[int, int], None] | None = None,
        sequential_slice: bool = False,
    ) -> IterDataset[T]:
        """Returns the same stream, computed by worker processes.

        Elements, order, errors and states are those without workers, for any number of them.

        >>> import grain
        >>> ds = grain.MapDataset.range(4).map(lambda x: x * x).to_iter_dataset()
        >>> list(ds.mp_prefetch(grain.MultiprocessingOptions(num_workers=2)))
        [0, 1, 4, 9]

        Args:
          options: how many workers and how far they may work ahead.
          worker_init_fn: called in each worker as it starts, with its index and the number of workers.
          sequential_slice: accepted for compatibility; any worker computes any element.
        """
        options = options if options is not None else MultiprocessingOptions(num_workers=10)
        arguments.instance("options", options, MultiprocessingOptions, "grain.MultiprocessingOptions")
        if worker_init_fn is not None:
            arguments.function("worker_init_fn", worker_init_fn)
        arguments.flag("sequential_slice", sequential_slice)
        return IterDataset._of(on_workers(self._node, options, worker_init_fn), (self,))

    def prefetch(self, multiprocessing_options: MultiprocessingOptions) -> IterDataset[T]:
        """The older name of `mp_prefetch`."""
        return self.mp_prefetch(multiprocessing_options)

    def seed(self, seed: int) -> IterDataset[T]:
        """Returns the same stream; random transformations after it derive their seeds from `seed`."""
        return IterDataset._of(steps.StreamSeed(self._node, arguments.non_negative("seed", seed)), (self,))

    def apply(self, transformations: transforms.Transformation | transforms.Transformations) -> IterDataset[Any]:
        """Returns the stream with one or several transformations applied, in order."""
        return apply_transformations(self, transformations)

    def _flat_map(self, transform: transforms.FlatMap) -> IterDataset[Any]:
        function = transforms.method_of(transform, transforms.FlatMap, "flat_map")
        return IterDataset._of(flat_map.StreamFlatMap(self._node, function), (self,))
