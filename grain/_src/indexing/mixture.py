"""Which component gives element k of a mixture, and which of its elements that is.

Component by component the rule splits what remains of the first k elements in proportion to the integer weights, so the
counts of every prefix are within one of their exact share, and any k is answered without looking at the ones before.
"""

import functools
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from grain._src import arguments
from grain._src.indexing.permutation import IndexArray

_LONGEST_PERIOD = 1 << 16
_LARGEST_TOTAL = math.isqrt(2**63 - 1)  # products of two parts of it fit int64


def integer_weights(weights: Sequence[float] | None, count: int) -> tuple[int, ...]:
    """Returns the weights as integers, in hundredths of the smallest; all 1 without weights."""
    if weights is None:
        return (1,) * count
    weights = arguments.sequence("weights", weights, "numbers")
    if len(weights) != count:
        raise ValueError(f"weights must have one entry per dataset: got {len(weights)} weights for {count} datasets")
    for weight in weights:
        if not 0 < arguments.number("each of weights", weight) < math.inf:
            raise ValueError(f"weights must be positive and finite, got {list(weights)!r}")
    try:
        hundredfold = 100 / min(weights)  # rounded: another order of the two operations gives other weights
        return tuple(int(weight * hundredfold) for weight in weights)
    except OverflowError:
        raise ValueError(f"weights must not differ by more than a float can say, got {list(weights)!r:.200}") from None


def mixed_length(lengths: Sequence[int], weights: Sequence[int]) -> int:
    """Returns how many elements there are before the first component runs out."""
    total = sum(weights)
    return min(sys.maxsize, int(min(n / (w / total) for n, w in zip(lengths, weights, strict=True))))


def locate(k: int, weights: Sequence[int]) -> tuple[int, int]:
    """Returns (component, index within it) of element `k`."""
    period = _period(tuple(weights))
    if period is not None:
        rounds, offset = divmod(k, len(period[0]))
        component = int(period[0][offset])
        return component, int(period[1][offset]) + rounds * weights[component]
    remaining = sum(weights)
    a, b = k, k + 1
    for component, weight in enumerate(weights):
        rest = remaining - weight
        next_a, next_b = a * rest // remaining, b * rest // remaining
        if b - next_b != a - next_a:
            return component, b - next_b - 1
        remaining, a, b = rest, next_a, next_b
    raise AssertionError("the weights are positive, so one component takes the element")


def _scaled(values: IndexArray, factor: int, divisor: int) -> IndexArray:
    """values * factor // divisor without overflowing int64: the remainder is scaled apart from the quotient."""
    quotient, remainder = np.divmod(values, divisor)
    scaled: IndexArray = quotient * factor + remainder * factor // divisor
    return scaled


@functools.lru_cache(maxsize=64)
def _period(weights: tuple[int, ...]) -> tuple[npt.NDArray[Any], IndexArray] | None:
    """Returns what `locate_array` gives for one round of the mixture: every sum(weights) elements the choices repeat."""
    total = sum(weights)
    if total > _LONGEST_PERIOD:
        return None
    components, indices = _walk(np.arange(total), weights)
    return components.astype(np.min_scalar_type(len(weights))), indices


def locate_array(ks: IndexArray, weights: Sequence[int]) -> tuple[npt.NDArray[Any], IndexArray]:
    """Returns (components, indices within them) of the elements `ks`."""
    period = _period(tuple(weights))
    if period is None:
        return _walk(ks, weights) if sum(weights) <= _LARGEST_TOTAL else _locate_each(ks, weights)
    rounds, offsets = np.divmod(ks, len(period[0]))
    components = period[0][offsets]
    return components, period[1][offsets] + rounds * np.array(weights, dtype=np.int64)[components]


def _locate_each(ks: IndexArray, weights: Sequence[int]) -> tuple[npt.NDArray[Any], IndexArray]:
    """`locate` for each of `ks` by Python's integers, which hold any product."""
    located = np.array([locate(k, weights) for k in ks.tolist()], dtype=np.int64).reshape(-1, 2)
    return located[:, 0], located[:, 1]


def _walk(ks: IndexArray, weights: Sequence[int]) -> tuple[npt.NDArray[np.intp], IndexArray]:
    """`locate` for each of `ks`, component by component."""
    components = np.empty(len(ks), dtype=np.intp)
    indices = np.empty(len(ks), dtype=np.int64)
    remaining = sum(weights)
    where: Any = np.arange(len(ks))
    a, b = ks, ks + 1
    for component, weight in enumerate(weights):
        rest = remaining - weight
        next_a, next_b = _scaled(a, rest, remaining), _scaled(b, rest, remaining)
        taken = b - next_b
        mine = taken != a - next_a
        components[where[mine]] = component
        indices[where[mine]] = taken[mine] - 1
        others = ~mine
        where, a, b, remaining = where[others], next_a[others], next_b[others], rest
    return components, indices
