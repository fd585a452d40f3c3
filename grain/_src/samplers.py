"""Samplers: which record a loader reads at which index, and the random generator that goes with it."""

import operator
import sys
from typing import Protocol

import numpy as np

from grain._src import arguments
from grain._src.indexing.permutation import IndexArray
from grain._src.indexing.record_rng import record_generator
from grain._src.nodes.base import MapNode
from grain._src.nodes.order import Shuffle
from grain._src.nodes.source import Range
from grain._src.records import RecordMetadata
from grain._src.sharding import NoSharding, ShardOptions, even_split

_ALL_RECORDS = NoSharding()


class Sampler(Protocol):
    """What a loader asks for each index: a record's key in the source and its generator.

    A sampler answers any index at any time with the same metadata, and raises IndexError past its end. `__len__` is
    optional: without it the loader searches for the end.
    """

    def __getitem__(self, index: int) -> RecordMetadata:
        """Returns what to read at `index`."""


class _OwnSampler:
    """What the samplers of this module share; loaders ask them for many keys at once."""

    _num_records: int
    _shard_options: ShardOptions
    _seed: int | None
    _length: int

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> RecordMetadata:
        index = operator.index(index)
        if not 0 <= index < self._length:
            raise IndexError(f"a sampler of {self._length} indices has none at {index}")
        rng = None if self._seed is None else record_generator(self._seed + index)
        return RecordMetadata(index=index, record_key=self.record_key(index), rng=rng)

    def record_key(self, index: int) -> int:
        """Returns the key in the source of the record to read at `index`."""
        raise NotImplementedError

    def record_keys(self, indices: IndexArray) -> IndexArray:
        """`record_key` for each of `indices`."""
        raise NotImplementedError


class IndexSampler(_OwnSampler):
    """Reads all records for some epochs, in order or shuffled anew each epoch.

    >>> sampler = IndexSampler(num_records=4, shuffle=True, num_epochs=2, seed=1)
    >>> [sampler[i].record_key for i in range(len(sampler))]
    [1, 2, 3, 0, 0, 3, 1, 2]

    With shards the records are first split into consecutive parts, one a shard, then shuffled within the part.

    Args:
      num_records: the length of the source.
      shard_options: the part to read.
      shuffle: whether to shuffle; needs a seed.
      num_epochs: how often to go through the records; None goes on without end.
      seed: of the shuffling and of the records' random generators.
    """

    def __init__(
        self,
        num_records: int,
        shard_options: ShardOptions = _ALL_RECORDS,
        shuffle: bool = False,
        num_epochs: int | None = None,
        seed: int | None = None,
    ) -> None:
        self._num_records = arguments.positive("num_records", num_records)
        self._shard_options = check_shard_options(shard_options)
        self._shuffle = arguments.flag("shuffle", shuffle)
        self._num_epochs = None if num_epochs is None else arguments.positive("num_epochs", num_epochs)
        self._seed = None if seed is None else arguments.seed("seed", seed)
        self._keys: MapNode = Range(*even_split(num_records, shard_options), 1)
        if self._shuffle:
            if self._seed is None:
                raise ValueError("seed must be given when shuffle is True, got None")
            self._keys = Shuffle(self._keys, self._seed)
        rest = num_records % shard_options.shard_count if shard_options.drop_remainder else 0
        epoch = self._num_records - rest
        self._length = min(sys.maxsize, epoch * (sys.maxsize if self._num_epochs is None else self._num_epochs))
        if self._num_epochs is None:
            self._check_part()

    def record_key(self, index: int) -> int:
        self._check_part()
        return int(self._keys.get(index // self._shard_options.shard_count))

    def record_keys(self, indices: IndexArray) -> IndexArray:
        self._check_part()
        resolved = self._keys.resolve(indices // self._shard_options.shard_count)
        assert resolved is not None
        part, keys = resolved
        return np.asarray(part.gather(keys))

    def _check_part(self) -> None:
        if not self._keys.length:
            options = self._shard_options
            raise ValueError(
                f"shard {options.shard_index} of {options.shard_count} has none of the {self._num_records} records to repeat. "
                "Use fewer shards, or num_epochs=1"
            )

    def __repr__(self) -> str:
        return (
            f"IndexSampler(num_records={self._num_records}, shard_options={self._shard_options!r}, "
            f"shuffle={self._shuffle}, num_epochs={self._num_epochs}, seed={self._seed})"
        )


class SequentialSampler(_OwnSampler):
    """Reads all records once, in order; shards take turns.

    >>> [SequentialSampler(num_records=3)[i].record_key for i in range(3)]
    [0, 1, 2]
    """

    def __init__(self, num_records: int, shard_options: ShardOptions = _ALL_RECORDS, seed: int | None = None) -> None:
        self._num_records = arguments.positive("num_records", num_records)
        self._shard_options = check_shard_options(shard_options)
        self._seed = None if seed is None else arguments.seed("seed", seed)
        rest = num_records % shard_options.shard_count if shard_options.drop_remainder else 0
        self._length = self._num_records - rest

    def record_key(self, index: int) -> int:
        return index

    def record_keys(self, indices: IndexArray) -> IndexArray:
        return indices

    def __repr__(self) -> str:
        return f"SequentialSampler(num_records={self._num_records}, shard_options={self._shard_options!r})"


def check_shard_options(options: ShardOptions) -> ShardOptions:
    """Returns `options` if they are that."""
    return arguments.instance("shard_options", options, ShardOptions, "grain.sharding.ShardOptions")


def check_sampler(sampler: Sampler) -> Sampler:
    """Returns `sampler` if it is one: of this module, or with a `__getitem__` of its own."""
    if not hasattr(type(sampler), "__getitem__"):
        raise TypeError(f"sampler must have `__getitem__`, but {type(sampler).__name__} has none")
    return sampler


def is_own(sampler: Sampler) -> bool:
    """Whether `sampler` can be asked for many keys at once: it is of this module, with nothing overridden."""
    return type(sampler) in (IndexSampler, SequentialSampler)


def length_of(sampler: Sampler) -> int:
    """Returns at which index `sampler` ends; searches for it where there is no `__len__`."""
    if hasattr(type(sampler), "__len__"):
        return len(sampler)  # type: ignore[arg-type]
    low, high = 0, 1  # every index below `low` is there
    while low < sys.maxsize and _has(sampler, high - 1):
        low, high = high, min(2 * high, sys.maxsize)
    while low < high:
        middle = (low + high) // 2
        if _has(sampler, middle):
            low = middle + 1
        else:
            high = middle
    return low


def _has(sampler: Sampler, index: int) -> bool:
    try:
        sampler[index]
    except IndexError:
        return False
    return True


def reads_of(sampler: Sampler, options: ShardOptions) -> int:
    """Returns how many indices the loader of one shard reads: shard_index, shard_index + shard_count, …"""
    total = length_of(sampler)
    full, rest = divmod(total, options.shard_count)
    # Parts of unequal length do not end their epochs together: over several epochs, stop after the last full round.
    repeats_parts = isinstance(sampler, IndexSampler) and (
        sampler._shard_options.shard_count > 1 and sampler._num_epochs != 1
    )
    return full + (options.shard_index < rest and not options.drop_remainder and not repeats_parts)
