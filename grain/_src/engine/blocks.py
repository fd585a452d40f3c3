"""A block: consecutive elements of a dataset with random access, computed or about to be."""

from collections.abc import Iterator
from operator import length_hint
from typing import Any


class Block:
    """The elements from some position up to `end`, and the error that comes after them, if any.

    Args:
      items: the elements, holes included; pulled once.
      ticks: an iterator that moves with `items` and knows how many are left, so that nobody has to count.
      end: the position after the last of the items.
      error: what the element at `end` raised.
    """

    __slots__ = ("end", "error", "items", "ticks")

    def __init__(
        self, items: Iterator[Any], ticks: Iterator[Any], end: int, error: BaseException | None = None
    ) -> None:
        self.items = items
        self.ticks = ticks
        self.end = end
        self.error = error

    @classmethod
    def of(cls, elements: list[Any], end: int, error: BaseException | None = None) -> "Block":
        """Returns a block of elements that are there already."""
        items = iter(elements)
        return cls(items, items, end, error)

    @property
    def position(self) -> int:
        """The position of the next item."""
        return self.end - length_hint(self.ticks)
