"""Where a pipeline begins: a sequence of records, or a range of integers."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from grain._src import trees
from grain._src.frozen import frozen
from grain._src.indexing.permutation import IndexArray
from grain._src.nodes.base import MapNode, Node

_CHUNK_BYTES = 1 << 16
_PICKED_AT_ONCE = 64


@frozen
class Source(MapNode):
    """The records of anything with `__len__` and `__getitem__`."""

    __eq__ = object.__eq__  # what it holds may not be comparable
    __hash__ = object.__hash__

    name = "source"
    source: Any

    @property
    def parents(self) -> tuple[Node, ...]:
        return ()

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        return (type(self.source).__getitem__,)

    def describe(self) -> str:
        kind = type(self.source)
        shown = repr(self.source) if kind.__module__.startswith("grain.") else kind.__name__
        return f"source({shown if len(shown) <= 60 else kind.__name__}, {self.length} records)"

    @cached_property
    def length(self) -> int:
        return len(self.source)

    @cached_property
    def _array(self) -> "np.ndarray[Any, Any] | None":
        if type(self.source) is not np.ndarray or self.source.dtype.hasobject:
            return None
        strings = self.source.dtype.kind in "SU" and self.source.ndim == 1  # a batch is as wide as its longest
        return None if strings else self.source

    def _keys(self, indices: IndexArray) -> IndexArray:
        return _within(self, indices)

    def get(self, index: int) -> Any:
        if not self.length:  # a call for each lookup would be dear
            self.check_not_empty(index)
        record = self.source[index % self.length]
        return record.copy() if self._array is not None else record  # a row is not a view of the source, as in `stream`

    def stream(self, indices: IndexArray) -> Iterator[Any]:
        keys = self._keys(indices)
        if self._array is not None:
            return self._stream_rows(self._array, keys)
        if type(self.source) in (list, tuple):
            return chain.from_iterable(_picked(self.source, keys.tolist()))
        batched = getattr(self.source, "__getitems__", None)
        if batched is not None and len(keys) > 1:
            return self._stream_batched(batched, keys.tolist())
        return map(self.source.__getitem__, keys.tolist())

    def _stream_rows(self, array: "np.ndarray[Any, Any]", keys: IndexArray) -> Iterator[Any]:
        # Rows are views of a small copy: what a user does to them in place does not reach the source.
        rows = max(1, _CHUNK_BYTES // max(1, array.nbytes // len(array)))
        return chain.from_iterable(array[keys[at : at + rows]] for at in range(0, len(keys), rows))

    def _stream_batched(self, batched: Callable[[list[int]], Any], keys: list[int]) -> Iterator[Any]:
        try:
            records = batched(keys)
        except Exception:
            # One of them fails: read one by one, so that the error comes at its own place.
            return map(self.source.__getitem__, keys)
        return iter(checked_block(records, len(keys), self.source))

    def inputs(self, index: int) -> list[tuple[MapNode, int]]:
        return []

    def resolve(self, indices: IndexArray) -> tuple[MapNode, IndexArray] | None:
        if self._array is None and not hasattr(self.source, "gather"):
            return None
        return self, self._keys(indices)

    def gather(self, keys: IndexArray) -> Any:
        return trees.as_stacked(self._array[keys]) if self._array is not None else self.source.gather(keys)

    @property
    def eager(self) -> bool:
        return hasattr(self.source, "__getitems__")

    @property
    def dense(self) -> bool:
        return self._array is not None


@frozen
class Range(MapNode):
    """The integers start, start + step, … before stop."""

    name = "range"
    start: int
    stop: int
    step: int

    @property
    def parents(self) -> tuple[Node, ...]:
        return ()

    def describe(self) -> str:
        return f"range({self.start}, {self.stop}, {self.step})"

    @cached_property
    def length(self) -> int:
        return len(range(self.start, self.stop, self.step))

    def get(self, index: int) -> int:
        if not self.length:
            self.check_not_empty(index)
        return self.start + index % self.length * self.step

    def stream(self, indices: IndexArray) -> Iterator[Any]:
        return iter(self.gather(self._keys(indices)).tolist())

    def _keys(self, indices: IndexArray) -> IndexArray:
        return _within(self, indices)

    def inputs(self, index: int) -> list[tuple[MapNode, int]]:
        return []

    def resolve(self, indices: IndexArray) -> tuple[MapNode, IndexArray] | None:
        return self, self._keys(indices)

    def gather(self, keys: IndexArray) -> Any:
        return keys * self.step + self.start if (self.start, self.step) != (0, 1) else keys.copy()

    @property
    def dense(self) -> bool:
        return True


def checked_block(records: Any, count: int, source: Any) -> Any:
    """Returns the `records` that `source.__getitems__` gave if they are a sequence of `count`."""
    if isinstance(records, Mapping | Set | str | bytes) or not hasattr(type(records), "__len__"):
        raise TypeError(
            f"{type(source).__name__}.__getitems__ must return a list, one record per index, "
            f"got {type(records).__name__}"
        )
    if len(records) != count:
        raise ValueError(
            f"{type(source).__name__}.__getitems__ must return one record per index: "
            f"got {len(records)} for {count} indices"
        )
    return records


def _within(node: MapNode, indices: IndexArray) -> IndexArray:
    """Returns the keys of records at `indices`, which count on from epoch to epoch."""
    length = node.length
    if not len(indices):
        return indices
    node.check_not_empty(int(indices[0]))
    if indices[-1] >= length or indices.max() >= length or indices.min() < 0:
        return indices % length
    return indices


def _picked(records: Sequence[Any], keys: list[int]) -> Iterator[Iterable[Any]]:
    """Yields records, some at a time: they lie far apart in memory, and one by one each would have to be waited for."""
    for at in range(0, len(keys), _PICKED_AT_ONCE):
        some = keys[at : at + _PICKED_AT_ONCE]
        picked: Iterable[Any]
        try:
            picked = itemgetter(*some)(records) if len(some) > 1 else (records[some[0]],)
        except IndexError:  # somebody has made it shorter: the error comes at its own place
            picked = map(records.__getitem__, some)
        yield picked
