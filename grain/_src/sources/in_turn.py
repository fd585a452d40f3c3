"""Several files as one stream: one element of each in turn, a bounded number of files open."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from grain._src.errors import StateError
from grain._src.nodes.base import Node
from grain._src.nodes.stream import DatasetIterator, StreamNode, field

CYCLE_LENGTH = 16


@dataclasses.dataclass(frozen=True)
class InTurn(StreamNode):
    """Up to `CYCLE_LENGTH` of the streams at a time; one that ends makes room for the next one."""

    name = "in_turn"
    streams: tuple[StreamNode, ...]

    @property
    def parents(self) -> tuple[Node, ...]:
        return ()  # started by the iterator when their turn comes, not all at once by the engine

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        return ()

    def describe(self) -> str:
        return f"{self.streams[0].describe()} and {len(self.streams) - 1} more in turn"

    def build(self, parents: Sequence[DatasetIterator[Any]]) -> DatasetIterator[Any]:
        return InTurnIterator(self.streams)


class InTurnIterator(DatasetIterator[Any]):
    """Its state: which stream is in which place and how far it is, which places have ended, and whose turn it is."""

    def __init__(self, streams: Sequence[StreamNode]) -> None:
        super().__init__()
        self._streams = streams
        count = min(CYCLE_LENGTH, len(streams))
        self._place = 0
        self._next_stream = count
        self._numbers = list(range(count))
        self._running = [stream.build(()) for stream in streams[:count]]
        self._ended = [False] * count

    def __next__(self) -> Any:
        while self._next_stream < len(self._streams) or not all(self._ended):
            place = self._place
            if self._ended[place] and self._next_stream < len(self._streams):
                self._numbers[place] = self._next_stream
                self._running[place] = self._streams[self._next_stream].build(())
                self._ended[place] = False
                self._next_stream += 1
            if not self._ended[place]:
                try:
                    element = next(self._running[place])
                except StopIteration:
                    self._ended[place] = True
                else:
                    self._place = (place + 1) % len(self._numbers)
                    return element
            self._place = (place + 1) % len(self._numbers)
        raise StopIteration

    def get_state(self) -> dict[str, Any]:
        return {
            "next_index_in_cycle": self._place,
            "next_index_in_datasets": self._next_stream,
            "iterators_in_use_indices": list(self._numbers),
            "iterators_in_use_states": [iterator.get_state() for iterator in self._running],
            "exhausted": list(map(int, self._ended)),
            "future_states": {},
        }

    def set_state(self, state: dict[str, Any]) -> None:
        place = field(state, "next_index_in_cycle", int)
        following = field(state, "next_index_in_datasets", int)
        numbers, states = (field(state, f"iterators_in_use_{name}", list) for name in ("indices", "states"))
        ended = field(state, "exhausted", list)
        count = len(self._numbers)
        if not (len(numbers) == len(states) == len(ended) == count and 0 <= place < count):
            raise StateError(f"the state is of {len(numbers)} files read in turn, these are {count}")
        if not all(
            isinstance(number, int) and 0 <= number < len(self._streams) for number in [*numbers, following - 1]
        ):
            raise StateError(f"the state names files {numbers} and next {following}, there are {len(self._streams)}")
        running = [self._streams[number].build(()) for number in numbers]
        for iterator, its_state in zip(running, states, strict=True):
            iterator.set_state(its_state)
        self._place, self._next_stream, self._numbers, self._running = place, following, list(numbers), running
        self._ended = [bool(flag) for flag in ended]
