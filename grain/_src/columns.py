"""A long list of elements that are alike, column by column: one array in place of many that pickle one by one.

>>> elements = [{"x": np.array([i, i]), "label": i} for i in range(1000)]
>>> unpack(pack(elements))[7]
{'x': array([7, 7]), 'label': 7}
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise, repeat
from operator import attrgetter, is_
from sys import getrefcount
from typing import Any, NamedTuple, overload

import numpy as np

_LONG = 256  # elements; shorter lists pickle quickly enough
_is_writeable = attrgetter("flags.writeable")


class Column(NamedTuple):
    """The values at one place of each element."""

    values: Any  # an array whose rows they are, or the parts of a flat one, or a list of anything
    ends: "np.ndarray[Any, np.dtype[np.intp]] | None"  # where each part of a flat array ends

    @property
    def is_of_vectors(self) -> bool:
        """Whether they are arrays of one axis."""
        return type(self.values) is np.ndarray and (self.ends is not None or self.values.ndim == 2)

    def part(self, start: int, stop: int, copy: bool = False) -> list[Any]:
        """Returns those from `start` to `stop`; arrays are parts of the one that has all of them, or copies."""
        values, ends = self
        if type(values) is not np.ndarray:
            return list(values[start:stop])
        parts = list(values[start:stop]) if ends is None else [values[a:b] for a, b in _between(ends, start, stop)]
        if copy:
            parts = [part.copy() for part in parts]
            if not values.flags.writeable:
                for part in parts:
                    part.flags.writeable = False
        return parts

    def buffers(self, start: int, stop: int) -> "list[memoryview] | None":
        """Returns vectors of numbers from `start` to `stop` as views of their memory: in two thirds of the time of arrays."""
        values, ends = self
        if type(values) is not np.ndarray or ends is None or values.dtype.kind not in "biuf":
            return None
        view = values.data
        return [view[a:b] for a, b in _between(ends, start, stop)]


def _between(ends: "np.ndarray[Any, np.dtype[np.intp]]", start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Returns from where to where in a flat array the parts from `start` to `stop` are."""
    return pairwise([int(ends[start - 1]) if start else 0, *ends[start:stop].tolist()])


class Packed(NamedTuple):
    """The elements of a list or tuple: dicts with these keys, or arrays if there are none."""

    kind: type
    keys: tuple[Any, ...] | None
    columns: list[Column]

    @property
    def size(self) -> int:
        """How many they are."""
        values, ends = self.columns[0]
        return len(values if ends is None else ends)

    def elements(self, start: int = 0, stop: int | None = None) -> Any:
        """Returns those from `start` to `stop`, with memory of their own: one that is kept does not keep the others."""
        return unpack(self, True, start, stop)

    def part(self, start: int, stop: int) -> "Part":
        """The same, but nothing is made before it is looked at."""
        return Part(self, start, stop)


def pack(elements: Any, least: int = _LONG, most_bytes: float = math.inf) -> Packed | None:
    """Returns the elements by columns; None where they are not alike, few, or hold no arrays.

    Args:
      elements: a list or a tuple.
      least: fewer than this many pickle quickly enough.
      most_bytes: arrays of this size and more stay by themselves.
    """
    if type(elements) not in (list, tuple) or len(elements) < least:
        return None
    first = elements[0]
    if type(first) is np.ndarray:
        keys, lists = None, [elements]
    elif type(first) is dict and any(type(value) is np.ndarray for value in first.values()):
        keys = tuple(first)
        if set(map(type, elements)) != {dict} or set(map(len, elements)) != {len(keys)}:
            return None
        if len(keys) > 1 and set(map(tuple, elements)) != {keys}:
            return None
        try:
            lists = [[element[key] for element in elements] for key in keys]
        except KeyError:
            return None
    else:
        return None
    columns, arrays = [], set[int]()
    for values in lists:
        column = Column(values, None)
        if type(values[0]) is np.ndarray:
            if _nobody_else_holds(values, 1 if keys is None else 2):
                columns.append(_column(values, most_bytes))
                continue
            own = set(map(id, values))
            if not arrays.isdisjoint(own):
                return None  # an array that two columns have in common must not be copied for each
            arrays = arrays | own if arrays else own
            if len(own) == len(values):  # nor one that occurs more often than once, alone or in the same element
                column = _column(values, most_bytes)
            elif keys is not None and len(set(map(id, elements))) < len(elements):
                return None  # where an element does, all that it holds is there so often
        columns.append(column)
    if all(isinstance(column.values, list | tuple) for column in columns):
        return None
    return Packed(type(elements), keys, columns)


def _nobody_else_holds(values: Sequence[Any], holders: int) -> bool:
    """Whether each has so many holders and no other, so that none is there twice: sooner known than by comparing them."""
    return set(map(getrefcount, values)) == {holders + 1}  # and the one who counts


def _column(values: Sequence[Any], most_bytes: float) -> Column:
    """Returns arrays, none of which is there twice, as one; as they are where that would change them."""
    first, as_it_is = values[0], Column(values, None)
    if set(map(type, values)) != {np.ndarray} or not first.ndim:
        return as_it_is
    dtype = first.dtype
    if dtype.hasobject or dtype.metadata is not None or not _are_of(dtype, values):
        return as_it_is
    writeable = set(map(_is_writeable, values))
    if len(writeable) > 1:
        return as_it_is
    vectors = [v.ndim for v in values].count(1) == len(values)
    column = _column_of_vectors(values, most_bytes) if vectors else _column_of_rows(values, most_bytes)
    if type(column.values) is np.ndarray:
        (column.values.flags.writeable,) = writeable
    return column


def _column_of_vectors(values: Sequence[Any], most_bytes: float) -> Column:
    """The same for arrays of one axis."""
    dtype = values[0].dtype
    lengths = np.fromiter(map(len, values), np.intp, len(values))
    longest = int(lengths.max())
    if longest * dtype.itemsize >= most_bytes:
        return Column(values, None)
    flat = flat_of(values, dtype)
    if lengths.min() == longest:
        return Column(flat.reshape(len(values), longest), None)
    return Column(flat, lengths.cumsum())


def _column_of_rows(values: Sequence[Any], most_bytes: float) -> Column:
    """The same for arrays of more than one axis."""
    first, as_it_is = values[0], Column(values, None)
    if first.nbytes >= most_bytes or [v.shape for v in values].count(first.shape) < len(values):
        return as_it_is
    if not all([v.flags.c_contiguous for v in values]):
        return as_it_is
    return Column(np.array(values, first.dtype), None)


def _are_of(dtype: Any, values: Sequence[Any]) -> bool:
    """Whether all are of a dtype, which has no metadata."""
    dtypes = [value.dtype for value in values]
    if all(map(is_, dtypes, repeat(dtype))):
        return True
    return [own for own in dtypes if own.metadata is None].count(dtype) == len(values)


def flat_of(values: Sequence[Any], dtype: Any) -> "np.ndarray[Any, Any]":
    """Returns vectors of a dtype one after the other."""
    try:
        return np.frombuffer(bytearray().join(values), dtype)  # in a third of the time
    except (TypeError, ValueError, BufferError):  # one has gaps, or there are no buffers of that dtype
        return np.concatenate(values, dtype=dtype)


def unpack(packed: Packed, copy: bool = False, start: int = 0, stop: int | None = None) -> Any:
    """Returns the elements again, or those from `start` to `stop`; their arrays are parts of the columns, or copies."""
    stop = packed.size if stop is None else stop
    lists = [column.part(start, stop, copy) for column in packed.columns]
    if packed.keys is None:
        return packed.kind(lists[0])
    elements: list[dict[Any, Any]] = [{} for _ in lists[0]]
    for key, values in zip(packed.keys, lists, strict=True):  # by column: much quicker than dict by dict
        for element, value in zip(elements, values, strict=True):
            element[key] = value
    return packed.kind(elements)


class Part(Sequence[Any]):
    """Packed elements from `start` to `stop`. Who looks only at their arrays need not have the elements made."""

    def __init__(self, packed: Packed, start: int, stop: int) -> None:
        self._packed = packed
        self._start = start
        self._stop = stop
        self._elements: Sequence[Any] | None = None

    def __len__(self) -> int:
        return self._stop - self._start

    @overload
    def __getitem__(self, number: int) -> Any: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Any]: ...
    def __getitem__(self, number: int | slice) -> Any:
        """Returns elements with memory of their own."""
        if self._elements is None:
            self._elements = self._packed.elements(self._start, self._stop)
        return self._elements[number]

    @property
    def keys(self) -> tuple[Any, ...] | None:
        """The keys that the elements have, if they are dicts."""
        return self._packed.keys

    def vectors(self, key: Any, copy: bool) -> "list[np.ndarray[Any, Any]] | None":
        """Returns what the elements have under a key, if that is vectors; without a copy, one that is kept keeps all of them."""
        column = self._column(key)
        return None if column is None else column.part(self._start, self._stop, copy)

    def buffers(self, key: Any) -> "tuple[Any, list[memoryview]] | None":
        """Returns the dtype of those vectors, and their memory; None if they are no numbers."""
        column = self._column(key)
        views = None if column is None else column.buffers(self._start, self._stop)
        return None if column is None or views is None else (column.values.dtype, views)

    def _column(self, key: Any) -> Column | None:
        keys = self._packed.keys
        if keys is None or key not in keys:
            return None
        column = self._packed.columns[keys.index(key)]
        return column if column.is_of_vectors else None
