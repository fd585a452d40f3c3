"""The first elements of a stream."""

from collections.abc import Sequence
from typing import Any

from grain._src.frozen import frozen
from grain._src.nodes.base import Node
from grain._src.nodes.counts import count
from grain._src.nodes.stream import DatasetIterator, StreamNode, field, without_calls


@frozen
class StreamLimit(StreamNode):
    """The first `count` elements of a stream."""

    name = "limit"
    parent: Node
    count: int

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    def build(self, parents: Sequence[DatasetIterator[Any]]) -> DatasetIterator[Any]:
        return LimitIterator(self, parents[0])


class LimitIterator(DatasetIterator[Any]):
    """Its state: the parent's, and how many elements were handed out."""

    def __init__(self, node: StreamLimit, parent: DatasetIterator[Any]) -> None:
        super().__init__(parent)
        self._count = node.count
        self._read = 0
        self._elements = without_calls(parent)

    def __next__(self) -> Any:
        if self._read >= self._count:
            raise StopIteration
        for element in self._elements:
            self._read += 1
            return element
        raise StopIteration

    def get_state(self) -> dict[str, Any]:
        return {"parent": self._parent.get_state(), "count_elements_read": self._read}

    def set_state(self, state: dict[str, Any]) -> None:
        read = count(state, "count_elements_read")
        self._parent.set_state(field(state, "parent", dict))
        self._read = read
