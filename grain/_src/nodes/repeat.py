"""A stream several times over."""

from collections.abc import Sequence
from typing import Any

from grain._src.frozen import frozen
from grain._src.nodes.base import Node
from grain._src.nodes.counts import count
from grain._src.nodes.stream import DatasetIterator, StreamNode, field, without_calls


@frozen
class StreamRepeat(StreamNode):
    """The stream `num_epochs` times, each epoch the same; None repeats without end."""

    name = "repeat"
    parent: Node
    num_epochs: int | None = None

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    def build(self, parents: Sequence[DatasetIterator[Any]]) -> DatasetIterator[Any]:
        return RepeatIterator(self, parents[0])


class RepeatIterator(DatasetIterator[Any]):
    """Its state: the parent's, and how many epochs are complete."""

    def __init__(self, node: StreamRepeat, parent: DatasetIterator[Any]) -> None:
        super().__init__(parent)
        self._num_epochs = node.num_epochs
        self._elements = without_calls(parent)
        self._start = parent.get_state()
        self._epoch = 0
        self._untouched = True  # nothing of this epoch was handed out, and it began at the beginning
        self._rewinds = False  # whether the parent is yet to begin again

    def __next__(self) -> Any:
        while self._num_epochs is None or self._epoch < self._num_epochs:
            if self._rewinds:
                self._parent.set_state(self._start)
                self._rewinds = False
            try:
                for element in self._elements:
                    self._untouched = False
                    return element
            except BaseException:
                self._untouched = False  # a stream that fails is not empty
                raise
            if self._untouched:
                break  # an empty stream stays empty, however often it is repeated
            self._epoch += 1
            self._untouched = True
            self._rewinds = self._num_epochs is None or self._epoch < self._num_epochs
        raise StopIteration

    def get_state(self) -> dict[str, Any]:
        return {"parent": self._start if self._rewinds else self._parent.get_state(), "epoch": self._epoch}

    def set_state(self, state: dict[str, Any]) -> None:
        epoch = count(state, "epoch")
        self._parent.set_state(field(state, "parent", dict))
        self._epoch, self._untouched, self._rewinds = epoch, state["parent"] == self._start, False
