"""Deterministic, resumable, fast input pipelines for training.

>>> import grain
>>> ds = grain.MapDataset.range(1000).shuffle(seed=42).map(lambda x: x + 1).batch(4)
>>> ds[0]
array([395, 592, 810, 525])
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grain import (
        checkpoint,
        constants,
        experimental,
        multiprocessing,
        python,
        samplers,
        sharding,
        sources,
        testing,
        transforms,
    )
    from grain._src.api.iter_dataset import IterDataset
    from grain._src.api.load import load
    from grain._src.api.loader import DataLoader, DataLoaderIterator
    from grain._src.api.map_dataset import MapDataset
    from grain._src.config import config
    from grain._src.nodes.stream import DatasetIterator
    from grain._src.options import MultiprocessingOptions, ReadOptions
    from grain._src.records import Record, RecordMetadata
    from grain._src.samplers import IndexSampler, Sampler, SequentialSampler
    from grain._src.sharding import NoSharding, ShardByJaxProcess, ShardOptions
    from grain._src.sources.array_record import ArrayRecordDataSource
    from grain._src.sources.in_memory import SharedMemoryDataSource
    from grain._src.sources.in_memory import SharedMemoryDataSource as InMemoryDataSource
    from grain._src.sources.protocol import RandomAccessDataSource
    from grain._src.sources.range import RangeDataSource
    from grain._src.transforms import Batch, Transformation
    from grain._src.transforms import Filter as FilterTransform
    from grain._src.transforms import FlatMap as FlatMapTransform
    from grain._src.transforms import Map as MapTransform
    from grain._src.transforms import MapWithIndex as MapWithIndexTransform
    from grain._src.transforms import RandomMap as RandomMapTransform

# Loaded when first asked for, so that `import grain` costs next to nothing: name → module [: attribute].
_LATER = {
    "ArrayRecordDataSource": "grain._src.sources.array_record",
    "Batch": "grain._src.transforms",
    "DataLoader": "grain._src.api.loader",
    "DataLoaderIterator": "grain._src.api.loader",
    "DatasetIterator": "grain._src.nodes.stream",
    "FilterTransform": "grain._src.transforms:Filter",
    "FlatMapTransform": "grain._src.transforms:FlatMap",
    "InMemoryDataSource": "grain._src.sources.in_memory:SharedMemoryDataSource",
    "IndexSampler": "grain._src.samplers",
    "IterDataset": "grain._src.api.iter_dataset",
    "MapDataset": "grain._src.api.map_dataset",
    "MapTransform": "grain._src.transforms:Map",
    "MapWithIndexTransform": "grain._src.transforms:MapWithIndex",
    "MultiprocessingOptions": "grain._src.options",
    "NoSharding": "grain._src.sharding",
    "RandomAccessDataSource": "grain._src.sources.protocol",
    "RandomMapTransform": "grain._src.transforms:RandomMap",
    "RangeDataSource": "grain._src.sources.range",
    "ReadOptions": "grain._src.options",
    "Record": "grain._src.records",
    "RecordMetadata": "grain._src.records",
    "Sampler": "grain._src.samplers",
    "SequentialSampler": "grain._src.samplers",
    "ShardByJaxProcess": "grain._src.sharding",
    "ShardOptions": "grain._src.sharding",
    "SharedMemoryDataSource": "grain._src.sources.in_memory",
    "Transformation": "grain._src.transforms",
    "config": "grain._src.config",
    "load": "grain._src.api.load",
}
_MODULES = (
    "checkpoint",
    "constants",
    "experimental",
    "multiprocessing",
    "python",
    "samplers",
    "sharding",
    "sources",
    "testing",
    "transforms",
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"grain.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'grain' has no attribute {name!r}")
    module, _, attribute = _LATER[name].partition(":")
    value = globals()[name] = getattr(importlib.import_module(module), attribute or name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "ArrayRecordDataSource",
    "Batch",
    "DataLoader",
    "DataLoaderIterator",
    "DatasetIterator",
    "FilterTransform",
    "FlatMapTransform",
    "InMemoryDataSource",
    "IndexSampler",
    "IterDataset",
    "MapDataset",
    "MapTransform",
    "MapWithIndexTransform",
    "MultiprocessingOptions",
    "NoSharding",
    "RandomAccessDataSource",
    "RandomMapTransform",
    "RangeDataSource",
    "ReadOptions",
    "Record",
    "RecordMetadata",
    "Sampler",
    "SequentialSampler",
    "ShardByJaxProcess",
    "ShardOptions",
    "SharedMemoryDataSource",
    "Transformation",
    "checkpoint",
    "config",
    "constants",
    "experimental",
    "load",
    "multiprocessing",
    "python",
    "samplers",
    "sharding",
    "sources",
    "testing",
    "transforms",
]
