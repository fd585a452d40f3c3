"""Handles of transformations that are called as classes, and small functions on datasets and iterators."""

from typing import Any

from grain._src import arguments, transforms
from grain._src.api.dataset import Dataset, checked_dataset
from grain._src.api.iter_dataset import IterDataset
from grain._src.api.map_dataset import MapDataset
from grain._src.nodes import flat_map, to_iter
from grain._src.options import DatasetOptions


class FlatMapMapDataset(MapDataset[Any]):
    """Each element becomes up to `transform.max_fan_out` elements; places without an output are holes."""

    def __init__(self, parent: MapDataset[Any], transform: transforms.FlatMap) -> None:
        super().__init__(checked_dataset("parent", parent, MapDataset))
        function, most = transforms.flat_method_of(transform)
        self._own_node = flat_map.FlatMap(parent._map_node, function, most)


class FlatMapIterDataset(IterDataset[Any]):
    """Each element of a stream becomes several."""

    def __init__(self, parent: IterDataset[Any], transform: transforms.FlatMap) -> None:
        super().__init__(checked_dataset("parent", parent, Dataset))
        function = transforms.method_of(transform, transforms.FlatMap, "flat_map")
        self._own_node = flat_map.StreamFlatMap(parent._node, function)


class WithOptionsIterDataset(IterDataset[Any]):
    """The same stream; `options` hold for everything above it."""

    def __init__(self, parent: IterDataset[Any], options: DatasetOptions) -> None:
        super().__init__(checked_dataset("parent", parent, Dataset))
        arguments.instance("options", options, DatasetOptions, "grain.experimental.DatasetOptions")
        self._own_node = to_iter.WithOptions(parent._node, options)
