"""A block: consecutive elements of a dataset with random access, computed or about to be."""

from collections.abc import Callable, Iterator
from typing import Any


class Block:
    """The elements from some position up to `end`, and the error that comes after them, if any.

    Args:
      items: the elements, holes included; pulled once.
      left: says how many items are left, so that nobody has to count.
      end: the position after the last of the items.
      error: what the element at `end` raised.
    """

    __slots__ = ("end", "error", "items", "left")

    def __init__(
        self, items: Iterator[Any], left: Callable[[], int], end: int, error: BaseException | None = None
    ) -> None:
        self.items = items
        self.left = left
        self.end = end
        self.error = error

    @classmethod
    def of(cls, elements: list[Any], end: int, error: BaseException | None = None) -> "Block":
        """Returns a block of elements that are there already."""
        items = iter(elements)
        return cls(items, items.__length_hint__, end, error)  # type: ignore[attr-defined]

    @property
    def position(self) -> int:
        """The position of the next item."""
        return self.end - self.left()
