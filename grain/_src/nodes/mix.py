"""Mixtures of streams."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from grain._src.errors import StateError
from grain._src.frozen import frozen
from grain._src.indexing.mixture import locate_array
from grain._src.nodes.base import Node
from grain._src.nodes.counts import count
from grain._src.nodes.stream import DatasetIterator, StreamNode, closed_error, field, set_states, without_calls

_AHEAD = 1024


@frozen
class StreamMix(StreamNode):
    """Elements of the parents in proportion to integer weights, until one runs out."""

    name = "mix"
    components: tuple[Node, ...]
    weights: tuple[int, ...]
    keys: tuple[str, ...] | None = None

    @property
    def parents(self) -> tuple[Node, ...]:
        return self.components

    def describe(self) -> str:
        named = self.weights if self.keys is None else dict(zip(self.keys, self.weights, strict=True))
        return f"mix({len(self.components)} datasets, weights={named})"

    def build(self, parents: Sequence[DatasetIterator[Any]]) -> DatasetIterator[Any]:
        return MixIterator(self, parents)


class MixIterator(DatasetIterator[Any]):
    """Its state: those of the parents, the number of the next element, and whether a parent has run out.

    The states of a mapping are kept by name, so that components and weights may change between save and restore.
    """

    def __init__(self, node: StreamMix, parents: Sequence[DatasetIterator[Any]]) -> None:
        super().__init__(parents)
        self._node = node
        self._elements = [without_calls(parent) for parent in parents]
        self._index = 0
        self._stop = False
        self._choices: list[int] = []
        self._choices_start = 0
        self._beginnings = [parent.get_state() for parent in parents] if node.keys is not None else []

    def __next__(self) -> Any:
        if self._closed:
            raise closed_error(self._node.describe())
        if self._stop:
            raise StopIteration
        offset = self._index - self._choices_start
        if not 0 <= offset < len(self._choices):
            ahead = np.arange(self._index, self._index + _AHEAD)
            self._choices = locate_array(ahead, self._node.weights)[0].tolist()
            self._choices_start, offset = self._index, 0
        for element in self._elements[self._choices[offset]]:
            self._index += 1
            return element
        self._stop = True
        raise StopIteration

    def get_state(self) -> dict[str, Any]:
        states = [parent.get_state() for parent in self._parents]
        keys = self._node.keys
        parents = states if keys is None else dict(zip(keys, states, strict=True))
        return {"parents": parents, "index": self._index, "stop": self._stop}

    def set_state(self, state: dict[str, Any]) -> None:
        keys = self._node.keys
        states = field(state, "parents", list if keys is None else dict)
        index, stop = count(state, "index"), field(state, "stop", bool)
        if keys is not None:
            # Which components there are may have changed: known ones go on where they were, new ones begin.
            stop = stop and states.keys() == set(keys)
            states = [states.get(key, beginning) for key, beginning in zip(keys, self._beginnings, strict=True)]
        elif len(states) != len(self._parents):
            raise StateError(
                f"the state is of a mixture of {len(states)} datasets, this one has {len(self._parents)}. Mix a mapping of "
                "names to datasets: its components may change."
            )
        set_states(self._parents, states)
        self._index, self._stop = index, stop
