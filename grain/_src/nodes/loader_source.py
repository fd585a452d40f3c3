"""Where a loader begins: the records that a sampler names, bare or with their metadata."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from grain._src.frozen import frozen
from grain._src.indexing.permutation import IndexArray
from grain._src.indexing.record_rng import record_generator
from grain._src.nodes.base import ElementNode, IndexNode, MapNode
from grain._src.nodes.loader_records import LazyMetadata
from grain._src.records import Record, RecordMetadata


@frozen
class SampledSource(IndexNode):
    """The n-th element is the record that the sampler names at its index first + n * step.

    Args:
      parent: the source.
      sampler: gives metadata by index.
      first: the index of the first read: the loader's shard.
      step: how far the next index is: the number of shards.
      count: how many reads there are.
      own: whether the sampler is one of this library's, which answer for many indices at once.
      seed: the seed of such a sampler.
    """

    __eq__ = object.__eq__  # what it holds may not be comparable
    __hash__ = object.__hash__

    name = "sample"
    parent: MapNode
    sampler: Any
    first: int
    step: int
    count: int
    own: bool
    seed: int | None

    def describe(self) -> str:
        shard = f", shard {self.first} of {self.step}" if self.step > 1 else ""
        return f"sample({type(self.sampler).__name__}{shard})"

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        return () if self.own else (type(self.sampler).__getitem__,)

    @property
    def length(self) -> int:
        return self.count

    def index_at(self, position: int) -> int:
        """Returns the sampler's index of the read number `position`."""
        return self.first + position * self.step

    def metadata_at(self, position: int) -> RecordMetadata:
        """Returns what the sampler says about the read number `position`."""
        index = self.index_at(position)
        return self._metadata(index, self.sampler.record_key(index)) if self.own else self.sampler[index]

    def _metadata(self, index: int, key: int) -> RecordMetadata:
        rng = None if self.seed is None else functools.partial(record_generator, self.seed + index)
        return LazyMetadata(index, key, rng)  # type: ignore[arg-type]

    def metadatas(self, positions: IndexArray) -> list[RecordMetadata]:
        """`metadata_at` for each of `positions`, for a sampler of this library."""
        indices = positions * self.step + self.first
        return list(map(self._metadata, indices.tolist(), self.sampler.record_keys(indices).tolist()))

    def rewrite(self, index: int) -> int:
        key = (
            self.sampler.record_key(self.index_at(index)) if self.own else self.sampler[self.index_at(index)].record_key
        )
        if key is None:
            raise TypeError(f"the sampler gave no record_key at index {self.index_at(index)}")
        return int(key)

    def rewrite_array(self, indices: IndexArray) -> IndexArray:
        if self.own:
            return self.sampler.record_keys(indices * self.step + self.first)  # type: ignore[no-any-return]
        return np.fromiter(map(self.rewrite, indices.tolist()), np.int64, len(indices))

    def stream(self, indices: IndexArray) -> Iterator[Any]:
        if self.own:
            return super().stream(indices)
        try:
            keys = self.rewrite_array(indices)
        except Exception:
            # A user's sampler fails for one of them: go one by one, so that the error comes at its own place.
            return map(self.get, indices.tolist())
        return self.parent.stream(keys)


@frozen
class SampledRecords(ElementNode):
    """The same records with their metadata, for operations that look at it."""

    __eq__ = object.__eq__  # what it holds may not be comparable
    __hash__ = object.__hash__

    name = "records"
    parent: SampledSource

    @property
    def dense(self) -> bool:
        return True

    def get(self, index: int) -> Any:
        return Record(self.parent.metadata_at(index), self.parent.get(index))

    def stream(self, indices: IndexArray) -> Iterator[Any]:
        if not self.parent.own:
            return map(self.get, indices.tolist())
        return map(Record, self.parent.metadatas(indices), self.parent.stream(indices))
