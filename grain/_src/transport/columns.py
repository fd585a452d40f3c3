"""A long list of elements that are alike, column by column: one array in place of many that pickle one by one.

>>> elements = [{"x": np.array([i, i]), "label": i} for i in range(1000)]
>>> unpack(pack(elements))[7]
{'x': array([7, 7]), 'label': 7}
"""

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

_LONG = 256  # elements; shorter lists pickle quickly enough


class Column(NamedTuple):
    """The values at one place of each element."""

    values: Any  # an array whose rows they are, or the parts of a flat one, or a list of anything
    ends: list[int] | None  # where each part of a flat array ends


class Packed(NamedTuple):
    """The elements of a list or tuple: dicts with these keys, or arrays if there are none."""

    kind: type
    keys: tuple[Any, ...] | None
    columns: list[Column]


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
        if set(map(type, elements)) != {dict} or set(map(tuple, elements)) != {keys}:
            return None
        lists = [[element[key] for element in elements] for key in keys]
    else:
        return None
    if keys is not None and len(set(map(id, elements))) < len(elements):
        return None  # an element that occurs more often than once must not be copied each time
    own = [set(map(id, values)) for values in lists if type(values[0]) is np.ndarray]
    if sum(map(len, own)) > len(set().union(*own)):
        return None  # nor an array that two columns have in common
    columns = [_column(values, most_bytes) for values in lists]
    if all(isinstance(column.values, list | tuple) for column in columns):
        return None
    return Packed(type(elements), keys, columns)


def _column(values: Sequence[Any], most_bytes: float) -> Column:
    first = values[0]
    as_it_is = Column(values, None)
    if set(map(type, values)) != {np.ndarray} or len(set(map(id, values))) < len(values):
        return as_it_is
    dtype = first.dtype
    if dtype.hasobject or [own for v in values if (own := v.dtype).metadata is None].count(dtype) < len(values):
        return as_it_is
    if not first.ndim or not all([(flags := v.flags).c_contiguous and flags.writeable for v in values]):
        return as_it_is
    if max([v.nbytes for v in values]) >= most_bytes:
        return as_it_is
    if [v.shape for v in values].count(first.shape) == len(values):
        return Column(np.array(values, dtype), None)
    if all([v.ndim == 1 for v in values]):
        return Column(np.concatenate(values, dtype=dtype), list(accumulate(map(len, values))))
    return as_it_is


def unpack(packed: Packed, copy: bool = False) -> Any:
    """Returns the elements again; their arrays are parts of the columns, or copies of them."""
    lists = [_values(column, copy) for column in packed.columns]
    if packed.keys is None:
        return packed.kind(lists[0])
    elements: list[dict[Any, Any]] = [{} for _ in lists[0]]
    for key, values in zip(packed.keys, lists, strict=True):  # by column: much quicker than dict by dict
        for element, value in zip(elements, values, strict=True):
            element[key] = value
    return packed.kind(elements)


def _values(column: Column, copy: bool) -> list[Any]:
    values, ends = column
    if type(values) is not np.ndarray:
        return list(values)
    if ends is None:
        return [value.copy() for value in values] if copy else list(values)
    parts = pairwise([0, *ends])
    return [values[a:b].copy() for a, b in parts] if copy else [values[a:b] for a, b in parts]
