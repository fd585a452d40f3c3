"""`grain.python`: everything by its older names."""

import grain
import grain.python as pygrain

RENAMED = {
    "FilterTransform": grain.transforms.Filter,
    "InMemoryDataSource": grain.sources.SharedMemoryDataSource,
    "MapTransform": grain.transforms.Map,
    "MapWithIndexTransform": grain.transforms.MapWithIndex,
    "PyGrainDatasetIterator": grain.DataLoaderIterator,
    "RandomMapTransform": grain.transforms.RandomMap,
}
UNCHANGED = [
    "ArrayRecordDataSource",
    "Batch",
    "DataLoader",
    "DatasetIterator",
    "IndexSampler",
    "IterDataset",
    "MapDataset",
    "MultiprocessingOptions",
    "NoSharding",
    "RandomAccessDataSource",
    "RangeDataSource",
    "ReadOptions",
    "Record",
    "RecordMetadata",
    "Sampler",
    "SequentialSampler",
    "ShardByJaxProcess",
    "ShardOptions",
    "Transformation",
    "config",
    "load",
    "experimental",
]
OWN = [
    "BatchOperation",
    "DATASET_INDEX",
    "DatasetSelectionMap",
    "EPOCH",
    "FilterOperation",
    "INDEX",
    "META_FEATURES",
    "MapOperation",
    "Operation",
    "RECORD",
    "RECORD_KEY",
    "RandomMapOperation",
    "SEED",
    "SharedMemoryArray",
    "Transformations",
]


def test_renamed_classes_are_the_same_objects():
    assert {name: getattr(pygrain, name) for name in RENAMED} == RENAMED


def test_other_names_are_those_of_the_top_level():
    shared = [name for name in UNCHANGED if name != "experimental"]
    assert all(getattr(pygrain, name) is getattr(grain, name) for name in shared)


def test_older_names_are_there():
    assert [name for name in OWN if not hasattr(pygrain, name)] == []


def test_everything_of_the_top_level_is_there():
    assert [name for name in grain.__all__ if name not in pygrain.__all__] == []


def test_experimental_is_the_same_under_the_older_path():
    import grain.python.experimental as old

    assert old.__all__ == grain.experimental.__all__
    assert all(getattr(old, name) is getattr(grain.experimental, name) for name in old.__all__)
    assert pygrain.experimental is old
