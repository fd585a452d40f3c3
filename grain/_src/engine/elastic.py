"""Runs one host's part of global batches: an ordinary pipeline that begins where a state says."""

from collections.abc import Callable
from typing import Any

from grain._src.nodes import context
from grain._src.nodes.base import Node
from grain._src.nodes.elastic import POSITION, GlobalBatch, position_in
from grain._src.nodes.stream import DatasetIterator
from grain._src.nodes.to_iter import ToIter


class GlobalBatchIterator(DatasetIterator[Any]):
    """Its state: how many records all hosts together have taken.

    Args:
      node: what to run.
      iterate: starts a pipeline.
    """

    def __init__(self, node: GlobalBatch, iterate: Callable[[Node], DatasetIterator[Any]]) -> None:
        self._node = node
        self._iterate = iterate
        self._context = context.current()
        super().__init__(self._begin(0))

    def _begin(self, start: int) -> DatasetIterator[Any]:
        self._start = start
        with context.using(self._context):
            return self._iterate(ToIter(self._node.local(start), self._node.read_options))

    def __next__(self) -> Any:
        return next(self._parent)

    def pull(self, count: int) -> list[Any]:
        return self._parent.pull(count)

    def get_state(self) -> dict[str, Any]:
        return {POSITION: self._start + self._parent.get_state()["next_index"] * self._node.batch_size}

    def set_state(self, state: dict[str, Any]) -> None:
        position = position_in(state)
        batches, rest = divmod(position - self._start, self._node.batch_size)
        if batches < 0 or rest:  # batches begin elsewhere now: another batch size was used before
            self._parent.close()
            self._parents = (self._begin(position),)
            if self._closed:
                self._parent.close()
        else:
            self._parent.set_state({"next_index": batches})
