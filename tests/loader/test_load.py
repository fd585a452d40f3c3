"""`grain.load`: a loader in one call."""

import itertools

import pytest

import grain


def batches(*arguments, **options):
    return [batch.tolist() for batch in grain.load(*arguments, **options)]


def test_it_reads_the_source_in_order():
    assert list(grain.load("abc", num_epochs=1)) == ["a", "b", "c"]


def test_it_goes_on_without_end_by_default():
    assert list(itertools.islice(grain.load([1, 2]), 5)) == [1, 2, 1, 2, 1]


def test_the_batch_comes_last():
    class Negate(grain.transforms.Map):
        def map(self, element):
            return -element

    assert batches([1, 2, 3], num_epochs=1, transformations=[Negate()], batch_size=2) == [[-1, -2], [-3]]
    assert batches([1, 2, 3], num_epochs=1, batch_size=2, drop_remainder=True) == [[1, 2]]


def test_shards_are_parts_of_the_source():
    parts = [list(grain.load(range(5), num_epochs=1, shard_options=grain.ShardOptions(i, 2))) for i in range(2)]
    assert parts == [[0, 1, 2], [3, 4]]


def test_shuffling_needs_a_seed():
    with pytest.raises(ValueError, match="seed must be given when shuffle is True"):
        grain.load([1, 2, 3], shuffle=True)
