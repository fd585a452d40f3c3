"""Transformations and tools that may still change."""

from grain._src.api.apply import apply_transformations
from grain._src.api.elastic import ElasticIterator, shard_batches
from grain._src.api.experimental import FlatMapIterDataset, FlatMapMapDataset, WithOptionsIterDataset
from grain._src.api.file_datasets import ParquetIterDataset, TFRecordIterDataset
from grain._src.api.next_index import get_next_index, set_next_index
from grain._src.api.packing import (
    BestFitPackIterDataset,
    ConcatThenSplitIterDataset,
    FirstFitPackIterDataset,
    PackAndBatchOperation,
)
from grain._src.api.performance import PerformanceConfig, pick_performance_config
from grain._src.api.prefetching import (
    ThreadPrefetchDatasetIterator,
    ThreadPrefetchIterDataset,
    multithread_prefetch,
)
from grain._src.api.specs import get_element_spec
from grain._src.api.streams import (
    CacheIterDataset,
    InterleaveIterDataset,
    LimitIterDataset,
    RebatchIterDataset,
    RepeatIterDataset,
    WindowShuffleIterDataset,
    WindowShuffleMapDataset,
    ZipIterDataset,
    ZipMapDataset,
)
from grain._src.conformance.resume import assert_equal_output_after_checkpoint
from grain._src.indexing.permutation import index_shuffle
from grain._src.indexing.rng import RngPool
from grain._src.interop.jax_arrays import make_global_array
from grain._src.interop.jax_device import device_put
from grain._src.nodes.concat_then_split import BOSHandling
from grain._src.nodes.element_spec import ShapeDtypeStruct, ShapeDtypeStructProtocol
from grain._src.options import DatasetOptions, ExecutionTrackingMode
from grain._src.transforms import FlatMap as FlatMapTransform
from grain._src.transforms import MapWithIndex as MapWithIndexTransform
from grain._src.trees import batch_and_pad

__all__ = [
    "BOSHandling",
    "BestFitPackIterDataset",
    "CacheIterDataset",
    "ConcatThenSplitIterDataset",
    "DatasetOptions",
    "ElasticIterator",
    "ExecutionTrackingMode",
    "FirstFitPackIterDataset",
    "FlatMapIterDataset",
    "FlatMapMapDataset",
    "FlatMapTransform",
    "InterleaveIterDataset",
    "LimitIterDataset",
    "MapWithIndexTransform",
    "PackAndBatchOperation",
    "ParquetIterDataset",
    "PerformanceConfig",
    "RebatchIterDataset",
    "RepeatIterDataset",
    "RngPool",
    "ShapeDtypeStruct",
    "ShapeDtypeStructProtocol",
    "TFRecordIterDataset",
    "ThreadPrefetchDatasetIterator",
    "ThreadPrefetchIterDataset",
    "WindowShuffleIterDataset",
    "WindowShuffleMapDataset",
    "WithOptionsIterDataset",
    "ZipIterDataset",
    "ZipMapDataset",
    "apply_transformations",
    "assert_equal_output_after_checkpoint",
    "batch_and_pad",
    "device_put",
    "get_element_spec",
    "get_next_index",
    "index_shuffle",
    "make_global_array",
    "multithread_prefetch",
    "pick_performance_config",
    "set_next_index",
    "shard_batches",
]
