"""The conformance suite says what is wrong with sources that break a promise."""

import itertools
from typing import Any

import numpy as np
import pytest

from grain._src.conformance.source import check_source


class Good:
    """A correct source, for the bad ones to differ from in one way."""

    def __len__(self) -> int:
        return 20

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < 20:
            raise IndexError(index)
        return {"x": np.full(3, index), "nan": float("nan")}

    def __getitems__(self, indices: Any) -> list[Any]:
        return [self[index] for index in indices]

    def __repr__(self) -> str:
        return "Good()"


class Forgetful(Good):
    counter = itertools.count()

    def __getitem__(self, index: int) -> Any:
        return {**super().__getitem__(index), "count": next(self.counter)}


class Endless(Good):
    def __getitem__(self, index: int) -> Any:
        return index


class Silent(Good):
    def __getitem__(self, index: int) -> Any:
        return index if 0 <= index < 20 else super().__getitem__(index) or None

    def __getitems__(self, indices: Any) -> list[Any]:
        return [index % 20 for index in indices]


class Sorted(Good):
    def __getitems__(self, indices: Any) -> list[Any]:
        return [self[index] for index in sorted(indices)]


class Short(Good):
    def __getitems__(self, indices: Any) -> list[Any]:
        return [self[index] for index in dict.fromkeys(map(int, indices))]


class Holes(Good):
    def __getitem__(self, index: int) -> Any:
        super().__getitem__(index)
        return None if index == 7 else index


class Anonymous(Good):
    __repr__ = object.__repr__


class Stuck(Good):
    def __reduce__(self) -> Any:
        raise TypeError("has an open handle")


class Wrong(Good):
    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < 20:
            raise ValueError(index)
        return index


def test_a_correct_source_passes() -> None:
    check_source(Good())
    check_source([1, 2, 3])
    check_source([])
    check_source(range(10**12), max_elements=50)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (Forgetful(), "differs when read again in another order"),
        (Endless(), r"source\[20\] of a source of length 20 must raise IndexError, gave 20"),
        (Silent(), r"__getitems__\(\[20\]\) of a source of length 20 must raise IndexError"),
        (Sorted(), "__getitems__ and __getitem__ differ at"),
        (Short(), "__getitems__ of 23 indices returned 20 elements"),
        (Holes(), r"source\[7\] is None"),
        (Anonymous(), "must not hold an address"),
        (Stuck(), "cannot be pickled.*open handle"),
        (Wrong(), "must raise IndexError, raised ValueError"),
    ],
)
def test_a_broken_promise_is_named(source: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_source(source)
