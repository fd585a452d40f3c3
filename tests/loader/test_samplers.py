"""Samplers: which record is read at which index."""

import sys

import numpy as np
import pytest

from grain._src import samplers
from grain.samplers import IndexSampler, SequentialSampler
from grain.sharding import NoSharding, ShardOptions


def keys(sampler):
    return [sampler[index].record_key for index in range(len(sampler))]


def test_every_epoch_reads_every_record_in_another_order():
    sampler = IndexSampler(50, shuffle=True, num_epochs=2, seed=3)
    first, second = keys(sampler)[:50], keys(sampler)[50:]
    assert sorted(first) == sorted(second) == list(range(50))
    assert first != second


def test_shards_are_consecutive_parts_shuffled_within():
    parts = []
    for shard in range(3):
        sampler = IndexSampler(11, ShardOptions(shard, 3), shuffle=True, num_epochs=1, seed=5)
        parts.append(sorted(sampler[index].record_key for index in range(shard, len(sampler), 3)))
    assert parts == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10]]


def test_a_record_s_generator_depends_on_seed_and_index_only():
    sampler = IndexSampler(9, shuffle=True, num_epochs=1, seed=7)
    expected = np.random.Generator(np.random.Philox(key=7 + 4)).integers(1 << 60)
    assert sampler[4].rng.integers(1 << 60) == sampler[4].rng.integers(1 << 60) == expected


def test_without_a_seed_there_is_no_generator():
    assert IndexSampler(9)[3].rng is None


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("shard", [NoSharding(), ShardOptions(1, 3), ShardOptions(2, 3, drop_remainder=True)])
def test_many_keys_at_once_are_those_asked_one_by_one(shuffle, shard):
    sampler = IndexSampler(1000, shard, shuffle=shuffle, num_epochs=3, seed=2)
    indices = np.arange(shard.shard_index, len(sampler), shard.shard_count)
    assert sampler.record_keys(indices).tolist() == [sampler[index].record_key for index in indices]


def test_a_sampler_without_epochs_has_no_end():
    assert len(IndexSampler(5)) == sys.maxsize
    assert IndexSampler(5)[10**12 + 3].record_key == 3


@pytest.mark.parametrize("index", [-1, 10, 11])
def test_an_index_out_of_range_is_refused(index):
    with pytest.raises(IndexError, match="10 indices"):
        IndexSampler(5, num_epochs=2)[index]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"num_records": 0}, ValueError, "num_records must be a positive integer, got 0"),
        ({"num_records": 1.5}, TypeError, "num_records must be an integer, got 1.5"),
        ({"num_epochs": 0}, ValueError, "num_epochs must be a positive integer, got 0"),
        ({"shuffle": True}, ValueError, "seed must be given when shuffle is True"),
        ({"seed": -1}, ValueError, r"seed must be between 0 and 2\*\*32 - 1, got -1"),
        ({"seed": 2**32}, ValueError, "seed must be between"),
        ({"shard_options": None}, TypeError, "shard_options must be a grain.sharding.ShardOptions, got None"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments, error, message):
    with pytest.raises(error, match=message):
        IndexSampler(**{"num_records": 5, **arguments})


def test_a_shard_without_records_says_so_when_it_should_repeat_them():
    with pytest.raises(ValueError, match="shard 6 of 8 has none of the 5 records"):
        IndexSampler(5, ShardOptions(6, 8), num_epochs=2)[6]


@pytest.mark.parametrize("drop_remainder", [False, True])
def test_a_shard_without_records_that_should_repeat_them_for_ever_is_refused_at_once(drop_remainder):
    with pytest.raises(ValueError, match="shard 6 of 8 has none of the 5 records"):
        IndexSampler(5, ShardOptions(6, 8, drop_remainder))


def test_sequential_shards_take_turns():
    sampler = SequentialSampler(5, ShardOptions(1, 2))
    assert keys(sampler) == [0, 1, 2, 3, 4]
    assert repr(sampler).startswith("SequentialSampler(num_records=5, shard_options=ShardOptions(shard_index=1")


class Endless:
    def __getitem__(self, index):
        return index


class Ending(Endless):
    def __init__(self, length):
        self.length = length

    def __getitem__(self, index):
        if index >= self.length:
            raise IndexError(index)
        return index


@pytest.mark.parametrize("length", [0, 1, 2, 3, 1000, 1023, 1024, 1025, sys.maxsize - 1, sys.maxsize])
def test_a_sampler_without_len_is_searched_for_its_end(length):
    assert samplers.length_of(Ending(length)) == length


def test_a_sampler_that_never_ends_is_taken_as_endless():
    assert samplers.length_of(Endless()) == sys.maxsize
