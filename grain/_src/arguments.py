"""Checks of arguments: every message names the argument, the value and what is allowed."""

import numbers
import operator
import os
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

MAX_SEED = 2**32 - 1
MAX_INDEX = 2**63 - 1


def integer(name: str, value: Any) -> int:
    """Returns `value` as an int; a float, even a whole one, or a string is refused."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r}") from None


def positive(name: str, value: Any) -> int:
    """Returns `value` if it is an integer of at least 1 that can count something."""
    if (checked := integer(name, value)) < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}")
    if checked > MAX_INDEX:
        raise ValueError(f"{name} must be at most 2**63 - 1, got {value!r}")
    return checked


def non_negative(name: str, value: Any) -> int:
    """Returns `value` if it is an integer of at least 0."""
    if (checked := integer(name, value)) < 0:
        raise ValueError(f"{name} must be an integer of at least 0, got {value!r}")
    return checked


def span(start: Any, stop: Any, step: Any) -> range:
    """Returns the range of these integers, whose numbers and length must fit 64 bits."""
    numbers = {name: integer(name, value) for name, value in (("start", start), ("stop", stop), ("step", step))}
    for name, value in numbers.items():
        if abs(value) > MAX_INDEX:
            raise ValueError(f"{name} must be between -(2**63 - 1) and 2**63 - 1, got {value!r}")
    if not numbers["step"]:
        raise ValueError("step must not be 0")
    spanned = range(*numbers.values())
    if spanned and (spanned[-1] - spanned.start) // spanned.step >= MAX_INDEX:
        raise ValueError(f"a range must have at most 2**63 - 1 elements, got {spanned}")
    return spanned


def seed(name: str, value: Any) -> int:
    """Returns `value` if it is a seed: an integer from 0 to 2**32 - 1."""
    checked = integer(name, value)
    if not 0 <= checked <= MAX_SEED:
        raise ValueError(f"{name} must be between 0 and 2**32 - 1, got {value!r}")
    return checked


def sequence(name: str, value: Any, of: str) -> list[Any]:
    """Returns the items of `value`."""
    try:
        return list(value)
    except TypeError:
        raise TypeError(f"{name} must be a sequence of {of}, got {value!r}") from None


def path(name: str, value: Any) -> str:
    """Returns a path as text."""
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str):
        raise TypeError(f"{name} must be text, got {text!r:.200}")
    if not text:
        raise ValueError(f"{name} must not be empty")
    return text


def names(name: str, value: Any) -> list[Any]:
    """Returns the names in `value`; a single text, whose characters are no names, is refused."""
    if isinstance(value, str | bytes):
        raise TypeError(f"{name} must be a sequence of names, got the text {value!r}")
    return sequence(name, value, "names")


def iterator(name: str, value: Any) -> Iterator[Any]:
    """Returns `iter(value)`, which of an iterator is itself; text, which has characters, is refused."""
    try:
        if not isinstance(value, str | bytes):
            return iter(value)
    except TypeError:
        pass
    raise TypeError(f"{name} must be an iterator, or a dataset or loader that has one, got {value!r}")


def number(name: str, value: Any) -> float:
    """Returns `value` if it is a number."""
    if not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    return value  # type: ignore[return-value]


def flag(name: str, value: Any) -> bool:
    """Returns `value` if it is true or false; a string, of which "False" would be true, is refused."""
    if isinstance(value, str) or getattr(value, "ndim", False) or value not in (True, False):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def function(name: str, value: Any) -> Callable[..., Any]:
    """Returns `value` if it can be called."""
    if not callable(value):
        raise TypeError(f"{name} must be a function, got {value!r}")
    return value  # type: ignore[no-any-return]


def instance(name: str, value: Any, kind: type[T], said: str) -> T:
    """Returns `value` if it is of `kind`, which the message calls `said`."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be a {said}, got {value!r}")
    return value
