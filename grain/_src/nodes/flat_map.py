"""Flat maps: one element in, several out, with random access and in a stream."""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from grain._src.errors import StateError
from grain._src.frozen import frozen
from grain._src.indexing.permutation import IndexArray
from grain._src.nodes.base import MapNode, Node
from grain._src.nodes.counts import count
from grain._src.nodes.stream import DatasetIterator, StreamNode, closed_error, field, is_interrupt


def _outputs_of(function: Callable[[Any], Sequence[Any]], element: Any) -> Sequence[Any]:
    outputs = function(element)
    return outputs if hasattr(outputs, "__len__") else list(outputs)


def _fan_out(function: Callable[[Any], Sequence[Any]], element: Any, most: int) -> Sequence[Any]:
    outputs = _outputs_of(function, element)
    if len(outputs) > most:
        raise ValueError(
            f"flat_map gave {len(outputs)} elements for one, more than max_fan_out={most}. Raise `max_fan_out`."
        )
    return outputs


@frozen
class FlatMap(MapNode):
    """Each element has `max_fan_out` places; those without an output are holes."""

    name = "flat_map"
    parent: MapNode
    function: Callable[[Any], Sequence[Any]]
    max_fan_out: int

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @property
    def length(self) -> int:
        return min(sys.maxsize, self.parent.length * self.max_fan_out)

    @property
    def sparse(self) -> bool:
        return True

    def get(self, index: int) -> Any:
        at, place = divmod(index, self.max_fan_out)
        element = self.parent.get(at)
        if element is None:
            return None
        outputs = _fan_out(self.function, element, self.max_fan_out)
        return outputs[place] if place < len(outputs) else None

    def stream(self, indices: IndexArray) -> Iterator[Any]:
        ats, places = np.divmod(indices, self.max_fan_out)
        fresh = np.ones(len(ats), dtype=bool)
        fresh[1:] = ats[1:] != ats[:-1]
        return self._expand(self.parent.stream(ats[fresh]), fresh.tolist(), places.tolist())

    def _expand(self, elements: Iterator[Any], fresh: list[bool], places: list[int]) -> Iterator[Any]:
        function, most = self.function, self.max_fan_out
        outputs: Sequence[Any] = ()
        for new, place in zip(fresh, places, strict=True):
            if new:
                element = next(elements)
                outputs = () if element is None else _fan_out(function, element, most)
            yield outputs[place] if place < len(outputs) else None

    def inputs(self, index: int) -> list[tuple[MapNode, int]]:
        return [(self.parent, index // self.max_fan_out)]


@frozen
class StreamFlatMap(StreamNode):
    """Each element of a stream becomes several, any number of them: a stream needs no places to put them in."""

    name = "flat_map"
    parent: Node
    function: Callable[[Any], Sequence[Any]]

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    def state_before(self, state: dict[str, Any]) -> dict[str, Any] | None:
        return {"parent": state["parent"], "next_index_in_buffer": state["next_index_in_buffer"] - 1}

    def build(self, parents: Sequence[DatasetIterator[Any]]) -> DatasetIterator[Any]:
        return FlatMapIterator(self, parents[0])


class FlatMapIterator(DatasetIterator[Any]):
    """Its state: where the parent was before the current element, and how many of its outputs are handed out."""

    def __init__(self, node: StreamFlatMap, parent: DatasetIterator[Any]) -> None:
        super().__init__(parent)
        self._node = node
        self._before = parent.get_state()
        # Right before the element, whatever was dropped in between: that does not depend on where a block of work begins.
        self._late = node.parent.state_before(self._before) is not None
        self._outputs: Sequence[Any] = ()
        self._next = 0

    def __next__(self) -> Any:
        if self._closed:
            raise closed_error(self._node.describe())
        while self._next >= len(self._outputs):
            here = self._parent.get_state()
            self._before, self._outputs, self._next = here, (), 0
            try:
                element = next(self._parent)
                if self._late:
                    self._before = self._node.parent.state_before(self._parent.get_state()) or {}
                if element is not None:
                    self._outputs = _outputs_of(self._node.function, element)
            except BaseException as error:
                if is_interrupt(error):
                    self._parent.set_state(here)
                self._before = self._parent.get_state()  # a later `next` goes on after the element that failed
                raise
        self._next += 1
        return self._outputs[self._next - 1]

    def get_state(self) -> dict[str, Any]:
        return {"parent": self._before, "next_index_in_buffer": self._next}

    def set_state(self, state: dict[str, Any]) -> None:
        before, number = field(state, "parent", dict), count(state, "next_index_in_buffer")
        here = self._parent.get_state()
        self._parent.set_state(before)
        try:
            outputs = self._consumed(number) if number else ()
        except Exception:
            self._parent.set_state(here)
            raise
        self._before, self._outputs, self._next = before, outputs, number

    def _consumed(self, number: int) -> Sequence[Any]:
        """Returns the outputs of the parent's next element, of which `number` were handed out."""
        try:
            element = next(self._parent)
        except StopIteration:
            return ()  # the original's state at the end: the last element, and where the parent is after it
        outputs = () if element is None else _outputs_of(self._node.function, element)
        if not 0 <= number <= len(outputs):
            raise StateError(f"the state says {number} outputs of an element are consumed, it has {len(outputs)}")
        return outputs
