"""Several files as one source: which file an index falls into, and how blocks are read a file at a time."""

import bisect
import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from grain._src.sources.base import IndexArray

T = TypeVar("T")


class Shards:
    """The lengths of files that follow each other."""

    def __init__(self, lengths: Sequence[int]) -> None:
        self.lengths = list(lengths)
        self.ends: IndexArray = np.cumsum(np.asarray(lengths, np.int64), dtype=np.int64)
        self.starts: IndexArray = self.ends - np.asarray(lengths, np.int64)
        self._ends: list[int] = self.ends.tolist()
        self._starts: list[int] = self.starts.tolist()
        self.total = self._ends[-1] if self._ends else 0

    def locate(self, key: int) -> tuple[int, int]:
        """Returns (shard, offset within it) of `key`."""
        shard = bisect.bisect_right(self._ends, key)
        return shard, key - self._starts[shard]

    def read(self, keys: IndexArray, read_shard: Callable[[int, IndexArray], Sequence[T]]) -> list[T]:
        """Returns the elements at `keys` in that order; `read_shard(shard, offsets)` is called once for each shard."""
        owners = np.searchsorted(self.ends, keys, side="right")
        first = int(owners[0])
        if (owners == first).all():
            return list(read_shard(first, keys - self._starts[first]))
        order = np.argsort(owners, kind="stable")
        owners = owners[order]
        offsets = keys[order] - self.starts[owners]
        cuts = np.flatnonzero(np.diff(owners)) + 1
        bounds = [0, *cuts.tolist(), len(order)]
        grouped: list[T] = []
        for begin, end in itertools.pairwise(bounds):
            grouped.extend(read_shard(int(owners[begin]), offsets[begin:end]))
        result: list[Any] = [None] * len(grouped)
        for position, element in zip(order.tolist(), grouped, strict=True):
            result[position] = element
        return result
