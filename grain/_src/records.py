"""A record with what is known about it: what samplers give and loaders carry."""

from __future__ import annotations

import dataclasses
from typing import Any, Generic, TypeVar

import numpy as np

T = TypeVar("T")


@dataclasses.dataclass(slots=True)
class RecordMetadata:
    """Where a record comes from.

    Args:
      index: its running number over all shards and epochs.
      record_key: its place in the data source.
      rng: its own random generator.
    """

    index: int
    record_key: int | None = None
    rng: np.random.Generator | None = None

    def remove_record_key(self) -> RecordMetadata:
        """Returns the metadata without the record's key, for what is made of several records."""
        return dataclasses.replace(self, record_key=None)

    def __str__(self) -> str:
        return f"RecordMetadata(index={self.index}, record_key={self.record_key}, rng={self.rng})"


@dataclasses.dataclass(slots=True)
class Record(Generic[T]):
    """An element with its metadata."""

    metadata: RecordMetadata
    data: T

    def __iter__(self) -> Any:
        return iter((self.metadata, self.data))
