"""A block: consecutive elements of a dataset with random access, computed or about to be."""

from collections.abc import Iterator
from typing import Any, Protocol


class Ticks(Protocol):
    """Something of C that moves with the elements and knows how many are left, so that nobody has to count."""

    def __length_hint__(self) -> int: ...


class Block:
    """The elements from some position up to `end`, and the error that comes after them, if any.

    Args:
      items: the elements, holes included; pulled once.
      ticks: as many are left of these as of the items; may be the items themselves.
      end: the position after the last of the items.
      error: what the element at `end` raised.
    """

    __slots__ = ("end", "error", "items", "ticks")

    def __init__(self, items: Iterator[Any], ticks: Ticks, end: int, error: BaseException | None = None) -> None:
        self.items = items
        self.ticks = ticks
        self.end = end
        self.error = error

    @classmethod
    def of(cls, elements: list[Any], end: int, error: BaseException | None = None) -> "Block":
        """Returns a block of elements that are there already."""
        items: Any = iter(elements)
        return cls(items, items, end, error)

    @property
    def position(self) -> int:
        """The position of the next item."""
        return self.end - self.ticks.__length_hint__()
