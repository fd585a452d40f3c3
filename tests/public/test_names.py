"""The public surface: the names of the reference and more, each in its place, none by accident."""

import importlib
import pkgutil

import pytest

import grain

REFERENCE = {
    "grain": """DataLoader DataLoaderIterator DatasetIterator IterDataset MapDataset MultiprocessingOptions ReadOptions
        Record RecordMetadata config load checkpoint constants experimental multiprocessing python samplers sharding
        sources transforms testing""",
    "grain.transforms": """Batch DatasetSelectionMap Filter FlatMap Map MapWithIndex RandomMap TfRandomMap Transformation
        Transformations""",
    "grain.sources": "ArrayRecordDataSource RandomAccessDataSource RangeDataSource SharedMemoryDataSource",
    "grain.samplers": "IndexSampler Sampler SequentialSampler",
    "grain.sharding": "NoSharding ShardByJaxProcess ShardOptions",
    "grain.checkpoint": "CheckpointHandler CheckpointRestore CheckpointSave OrbaxCheckpointHandler",
    "grain.constants": "DATASET_INDEX EPOCH INDEX META_FEATURES RECORD RECORD_KEY SEED",
    "grain.multiprocessing": "MultiprocessingOptions SharedMemoryArray SharedMemoryArrayMetadata",
    "grain.experimental": """BOSHandling BestFitPackIterDataset CacheIterDataset ConcatThenSplitIterDataset DatasetOptions
        ElasticIterator ExecutionTrackingMode FirstFitPackIterDataset FlatMapIterDataset FlatMapMapDataset
        FlatMapTransform InterleaveIterDataset LimitIterDataset MapWithIndexTransform PackAndBatchOperation
        ParquetIterDataset PerformanceConfig RebatchIterDataset RepeatIterDataset RngPool ShapeDtypeStruct
        ShapeDtypeStructProtocol TFRecordIterDataset ThreadPrefetchDatasetIterator ThreadPrefetchIterDataset
        WindowShuffleIterDataset WindowShuffleMapDataset WithOptionsIterDataset ZipIterDataset ZipMapDataset
        apply_transformations assert_equal_output_after_checkpoint batch_and_pad device_put get_element_spec
        get_next_index index_shuffle multithread_prefetch pick_performance_config set_next_index""",
    "grain.python": """ArrayRecordDataSource Batch BatchOperation DATASET_INDEX DataLoader DatasetIterator
        DatasetSelectionMap EPOCH FilterOperation FilterTransform INDEX InMemoryDataSource IndexSampler IterDataset
        META_FEATURES MapDataset MapOperation MapTransform MapWithIndexTransform MultiprocessingOptions NoSharding
        Operation PyGrainCheckpointHandler PyGrainCheckpointRestore PyGrainCheckpointSave PyGrainDatasetIterator RECORD
        RECORD_KEY RandomAccessDataSource RandomMapOperation RandomMapTransform RangeDataSource ReadOptions Record
        RecordMetadata SEED Sampler SequentialSampler ShardByJaxProcess ShardOptions SharedMemoryArray Transformation
        Transformations config load""",
}
# What guides write on the top level, beyond the reference.
TOP_LEVEL = """ArrayRecordDataSource RandomAccessDataSource RangeDataSource SharedMemoryDataSource InMemoryDataSource
    IndexSampler SequentialSampler Sampler ShardOptions NoSharding ShardByJaxProcess Batch Transformation MapTransform
    RandomMapTransform FilterTransform MapWithIndexTransform FlatMapTransform"""
ALIASES = {
    "grain.MapTransform": "grain.transforms.Map",
    "grain.RandomMapTransform": "grain.transforms.RandomMap",
    "grain.FilterTransform": "grain.transforms.Filter",
    "grain.MapWithIndexTransform": "grain.transforms.MapWithIndex",
    "grain.FlatMapTransform": "grain.transforms.FlatMap",
    "grain.Batch": "grain.transforms.Batch",
    "grain.Transformation": "grain.transforms.Transformation",
    "grain.ArrayRecordDataSource": "grain.sources.ArrayRecordDataSource",
    "grain.RangeDataSource": "grain.sources.RangeDataSource",
    "grain.InMemoryDataSource": "grain.sources.SharedMemoryDataSource",
    "grain.IndexSampler": "grain.samplers.IndexSampler",
    "grain.ShardOptions": "grain.sharding.ShardOptions",
    "grain.multiprocessing.MultiprocessingOptions": "grain.MultiprocessingOptions",
    "grain.experimental.MapWithIndexTransform": "grain.transforms.MapWithIndex",
    "grain.experimental.FlatMapTransform": "grain.transforms.FlatMap",
    "grain.checkpoint.OrbaxCheckpointHandler": "grain.checkpoint.CheckpointHandler",
    "grain.python.MapTransform": "grain.transforms.Map",
    "grain.python.RandomMapTransform": "grain.transforms.RandomMap",
    "grain.python.FilterTransform": "grain.transforms.Filter",
    "grain.python.InMemoryDataSource": "grain.sources.SharedMemoryDataSource",
    "grain.python.PyGrainCheckpointHandler": "grain.checkpoint.CheckpointHandler",
    "grain.python.PyGrainCheckpointRestore": "grain.checkpoint.CheckpointRestore",
    "grain.python.PyGrainCheckpointSave": "grain.checkpoint.CheckpointSave",
    "grain.python.PyGrainDatasetIterator": "grain.DataLoaderIterator",
    "grain.python.SharedMemoryArray": "grain.multiprocessing.SharedMemoryArray",
    "grain.python.MapDataset": "grain.MapDataset",
    "grain.python.load": "grain.load",
    "grain.python.config": "grain.config",
}


def resolve(path):
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("module", REFERENCE)
def test_every_name_of_the_reference_is_there(module):
    loaded = importlib.import_module(module)
    missing = [name for name in REFERENCE[module].split() if not hasattr(loaded, name)]
    assert missing == []


@pytest.mark.parametrize("module", list(REFERENCE))
def test_what_is_there_is_exported_and_what_is_exported_is_there(module):
    loaded = importlib.import_module(module)
    assert set(REFERENCE[module].split()) <= set(loaded.__all__)
    assert len(set(loaded.__all__)) == len(loaded.__all__)
    for name in loaded.__all__:
        getattr(loaded, name)


def test_the_names_that_guides_write_on_the_top_level():
    assert [name for name in TOP_LEVEL.split() if not hasattr(grain, name)] == []


def test_the_older_import_path_has_everything_that_the_top_level_has():
    older = importlib.import_module("grain.python")
    for name in grain.__all__:
        if name not in ("python", "testing", "experimental"):
            assert getattr(older, name) is getattr(grain, name), name
    assert importlib.import_module("grain.python.experimental").index_shuffle is grain.experimental.index_shuffle


@pytest.mark.parametrize("alias", ALIASES)
def test_an_alias_is_the_thing_itself(alias):
    assert resolve(alias) is resolve(ALIASES[alias])


def test_constants_have_the_values_of_the_reference():
    assert grain.constants.DATASET_INDEX == "_dataset_index"
    assert grain.constants.EPOCH == "_epoch"
    assert grain.constants.INDEX == "_index"
    assert grain.constants.RECORD == "_record"
    assert grain.constants.RECORD_KEY == "_record_key"
    assert grain.constants.SEED == "_seed"
    assert (
        frozenset({"_dataset_index", "_epoch", "_index", "_record", "_record_key", "_seed"})
        == grain.constants.META_FEATURES
    )


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'grain' has no attribute 'MapDatset'"):
        grain.MapDatset


def test_public_modules_are_exactly_these():
    found = {module.name for module in pkgutil.iter_modules(grain.__path__)}
    assert found == {
        "__main__", "_src", "checkpoint", "constants", "experimental", "multiprocessing", "python", "samplers",
        "sharding", "sources", "testing", "transforms",
    }  # fmt: skip


@pytest.mark.parametrize("module", [name for name in REFERENCE if name != "grain.constants"])
def test_every_public_thing_says_what_it_is(module):
    loaded = importlib.import_module(module)
    assert loaded.__doc__
    for name in loaded.__all__:
        thing = getattr(loaded, name)
        if isinstance(thing, type) or callable(thing):
            assert (thing.__doc__ or "").strip(), f"{module}.{name} has no docstring"
