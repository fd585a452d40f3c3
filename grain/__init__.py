"""Deterministic, resumable, fast input pipelines for training.

>>> import grain
>>> ds = grain.MapDataset.range(1000).shuffle(seed=42).map(lambda x: x + 1).batch(4)
>>> ds[0]
array([528, 188, 480, 784])
"""

from grain import constants, experimental, transforms
from grain._src.api.iter_dataset import IterDataset
from grain._src.api.map_dataset import MapDataset
from grain._src.nodes.stream import DatasetIterator
from grain._src.options import MultiprocessingOptions, ReadOptions
from grain._src.records import Record, RecordMetadata

__all__ = [
    "DatasetIterator",
    "IterDataset",
    "MapDataset",
    "MultiprocessingOptions",
    "ReadOptions",
    "Record",
    "RecordMetadata",
    "constants",
    "experimental",
    "transforms",
]
