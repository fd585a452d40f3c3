"""A stream whose elements are kept, so that later epochs need not compute them again."""

from collections.abc import Sequence
from typing import Any

from grain._src.errors import StateError
from grain._src.frozen import frozen
from grain._src.nodes.base import Node
from grain._src.nodes.counts import count
from grain._src.nodes.stream import DatasetIterator, StreamNode, closed_error, field, without_calls


@frozen
class StreamCache(StreamNode):
    """The same elements; once the stream was read to its end it is replayed from memory."""

    name = "cache"
    parent: Node

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    def build(self, parents: Sequence[DatasetIterator[Any]]) -> DatasetIterator[Any]:
        return CacheIterator(parents[0])


class CacheIterator(DatasetIterator[Any]):
    """Its state: how many elements were handed out, the parent's state, and whether the parent was read to its end.

    The elements themselves are not part of it: what a restored iterator lacks it computes again.
    """

    def __init__(self, parent: DatasetIterator[Any]) -> None:
        super().__init__(parent)
        self._elements = without_calls(parent)
        self._start = parent.get_state()
        self._kept: list[Any] | None = []  # None: the parent is past elements that are not here
        self._filled = False
        self._position = 0
        self._behind = 0  # how many elements to compute again before the next one

    def __next__(self) -> Any:
        if self._closed:
            raise closed_error("cache")
        while self._behind:
            try:
                self._keep(next(self._parent))
            except StopIteration:
                raise StateError(f"the state is after {self._position} elements, but there are fewer") from None
            self._behind -= 1
        if self._filled:
            assert self._kept is not None
            if self._position == len(self._kept):
                raise StopIteration
            element = self._kept[self._position]
        else:
            for element in self._elements:
                if self._kept is not None:
                    self._kept += (element,)
                self._position += 1
                return element
            self._filled = self._kept is not None
            raise StopIteration
        self._position += 1
        return element

    def _keep(self, element: Any) -> None:
        if self._kept is not None:
            self._kept.append(element)

    def get_state(self) -> dict[str, Any]:
        replaying = self._filled or self._behind > 0
        parent = self._start if replaying else self._parent.get_state()
        return {"parent": parent, "position": self._position, "cache_filled": replaying}

    def set_state(self, state: dict[str, Any]) -> None:
        position, filled = count(state, "position"), field(state, "cache_filled", bool)
        parent = field(state, "parent", dict)
        if self._filled:
            assert self._kept is not None
            if position > len(self._kept):
                raise StateError(f"the state is after {position} elements, but there are {len(self._kept)}")
        else:
            self._parent.set_state(self._start if filled else parent)
            self._kept = [] if filled or not position else None
            self._behind = position if filled else 0
        self._position = position
