"""Shard options, and what the shards of a loader read together."""

import dataclasses
import subprocess
import sys
from itertools import chain

import pytest

import grain
from grain._src.sharding import even_split
from grain.sharding import NoSharding, ShardOptions


def read(records, shards, *, by_sampler, drop_remainder=False, num_epochs=1):
    """What the loaders of all shards give."""
    parts = []
    for index in range(shards):
        options = ShardOptions(index, shards, drop_remainder)
        sampler = grain.IndexSampler(
            records, options if by_sampler else NoSharding(), shuffle=True, num_epochs=num_epochs, seed=4
        )
        parts.append(list(grain.DataLoader(data_source=range(records), sampler=sampler, shard_options=options)))
    return parts


@pytest.mark.parametrize("by_sampler", [True, False])
@pytest.mark.parametrize(("records", "shards"), [(12, 4), (11, 3), (5, 2), (3, 4), (100, 7)])
def test_shards_are_disjoint_and_complete(records, shards, by_sampler):
    parts = read(records, shards, by_sampler=by_sampler)
    assert sorted(chain(*parts)) == list(range(records))


@pytest.mark.parametrize("by_sampler", [True, False])
@pytest.mark.parametrize("num_epochs", [1, 3])
def test_with_drop_remainder_shards_are_equally_long(by_sampler, num_epochs):
    parts = read(11, 3, by_sampler=by_sampler, drop_remainder=True, num_epochs=num_epochs)
    assert len({len(part) for part in parts}) == 1
    if num_epochs == 1:
        assert len(set(chain(*parts))) == 9


def test_shards_of_several_epochs_stop_after_the_last_full_round():
    parts = read(11, 3, by_sampler=True, num_epochs=2)
    assert [len(part) for part in parts] == [7, 7, 7]


def test_the_loader_reads_every_shard_count_th_index():
    loader = grain.DataLoader(
        data_source=range(7), sampler=grain.SequentialSampler(7), shard_options=ShardOptions(1, 3)
    )
    assert list(loader) == [1, 4]


def test_even_split_gives_the_first_parts_one_more():
    assert [even_split(8, ShardOptions(index, 3)) for index in range(3)] == [(0, 3), (3, 6), (6, 8)]


@pytest.mark.parametrize(
    ("index", "count", "message"),
    [
        (2, 2, "shard_index must be between 0 and shard_count - 1 = 1, got 2"),
        (-1, 2, "shard_index must be between"),
        (0, 0, "shard_count must be a positive integer, got 0"),
    ],
)
def test_a_shard_that_does_not_exist_is_refused(index, count, message):
    with pytest.raises(ValueError, match=message):
        ShardOptions(index, count)


def test_options_are_frozen_values():
    assert ShardOptions(0, 2) == ShardOptions(0, 2)
    assert NoSharding() != ShardOptions(0, 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        NoSharding().shard_index = 1  # type: ignore[misc]


def test_jax_is_imported_only_when_jax_is_asked():
    script = (
        "import sys, grain, grain.sharding; grain.sharding.NoSharding(); assert 'jax' not in sys.modules;"
        "print(repr(grain.ShardByJaxProcess(drop_remainder=True))); assert 'jax' in sys.modules"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    assert result.stdout.strip() == "ShardByJaxProcess(shard_index=0, shard_count=1, drop_remainder=True)"


def test_without_jax_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ImportError, match=r"ShardByJaxProcess needs the package 'jax': pip install jax$"):
        grain.sharding.ShardByJaxProcess()
