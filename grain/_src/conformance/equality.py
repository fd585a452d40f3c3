"""When two elements are the same."""

from typing import Any

import numpy as np


def same(one: Any, other: Any) -> bool:
    """Whether two elements are equal in type and value, NaN included."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        if one.dtype.hasobject:
            return all(map(same, one.ravel().tolist(), other.ravel().tolist()))
        return bool(np.array_equal(one, other, equal_nan=one.dtype.kind in "fcmM"))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) or bool(one != one and other != other)
