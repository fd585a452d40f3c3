"""Elements of several streams in turn, a few streams at a time."""

import contextvars
import dataclasses
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from grain._src.errors import StateError
from grain._src.frozen import frozen
from grain._src.nodes import context
from grain._src.nodes.base import Node
from grain._src.nodes.counts import count, counts
from grain._src.nodes.stream import DatasetIterator, SelfStarting, closed_error, field

Start = Callable[[Node], DatasetIterator[Any]]

_TUNING = {"tuning": True}  # no part of what a checkpoint is of


@frozen
class StreamInterleave(SelfStarting):
    """Takes one element of each of `cycle_length` streams in turn; where one has ended, the next one waiting steps in.

    The engine runs it: a stream is started when its turn comes near, not before, for there may be thousands of them.
    """

    name = "interleave"
    components: Sequence[Node]  # perhaps made when they are asked for
    cycle_length: int
    num_make_iter_threads: int = dataclasses.field(default=1, metadata=_TUNING)
    make_iter_buffer_size: int = dataclasses.field(default=1, metadata=_TUNING)
    iter_buffer_size: int = dataclasses.field(default=1, metadata=_TUNING)

    @property
    def parents(self) -> tuple[Node, ...]:
        return self.components if isinstance(self.components, tuple) else ()

    def start(self, start: Start) -> DatasetIterator[Any]:
        return InterleaveIterator(self, start)

    def describe(self) -> str:
        return f"interleave({len(self.components)} datasets, cycle_length={self.cycle_length})"


@dataclasses.dataclass(slots=True)
class _Slot:
    """A place in the cycle.

    Args:
      dataset: the number of the stream that has it.
      iterator: runs the stream; None once it has ended.
      state: of the stream when it had ended.
    """

    dataset: int
    iterator: DatasetIterator[Any] | None
    state: dict[str, Any] | None = None

    def get_state(self) -> dict[str, Any]:
        state = self.state if self.iterator is None else self.iterator.get_state()
        assert state is not None
        return state

    def end(self) -> None:
        """Lets the stream go, with its threads and files."""
        if self.iterator is not None:
            self.state = self.iterator.get_state()
            iterator, self.iterator = self.iterator, None
            iterator.close()


class InterleaveIterator(DatasetIterator[Any]):
    """Its state: whose turn it is, which streams are in the cycle, with their states, and which come next."""

    def __init__(self, node: StreamInterleave, start: Start) -> None:
        super().__init__()
        self._node = node
        self._starter = _Starter(node, start)
        self._slots = [_Slot(number, self._starter.take(number)) for number in range(self._width)]
        self._turn = 0
        self._next_dataset = self._width
        self._starter.look_ahead(self._next_dataset)

    @property
    def _width(self) -> int:
        return min(self._node.cycle_length, len(self._node.components))

    def __next__(self) -> Any:
        if self._closed:
            raise closed_error(self._node.describe())
        ended = 0  # places in a row that gave nothing and get nothing new
        while ended < len(self._slots):
            slot = self._slots[self._turn]
            if slot.iterator is None and self._next_dataset < len(self._node.components):
                slot.iterator = self._starter.take(self._next_dataset)
                slot.dataset = self._next_dataset
                self._next_dataset += 1
                self._starter.look_ahead(self._next_dataset)
            following = (self._turn + 1) % len(self._slots)
            if slot.iterator is not None:
                for element in slot.iterator:  # as `without_calls` has it
                    self._turn = following
                    return element
                over, state = slot.iterator, slot.iterator.get_state()
                slot.iterator, slot.state, self._turn = None, state, following
                over.close()
            self._turn = following
            ended = ended + 1 if self._next_dataset == len(self._node.components) else 0
        raise StopIteration

    def get_state(self) -> dict[str, Any]:
        return {
            "next_index_in_cycle": self._turn,
            "next_index_in_datasets": self._next_dataset,
            "iterators_in_use_indices": [slot.dataset for slot in self._slots],
            "iterators_in_use_states": [slot.get_state() for slot in self._slots],
            "exhausted": [int(slot.iterator is None) for slot in self._slots],
            "future_states": {},
        }

    def set_state(self, state: dict[str, Any]) -> None:
        turn, next_dataset = count(state, "next_index_in_cycle"), count(state, "next_index_in_datasets")
        numbers = counts(state, "iterators_in_use_indices")
        states = field(state, "iterators_in_use_states", list)
        exhausted = counts(state, "exhausted")
        total = len(self._node.components)
        if not len(numbers) == len(states) == len(exhausted) == self._width:
            raise StateError(f"the state is of a cycle of {len(numbers)} streams, this one has {self._width}")
        if next_dataset > total or turn >= max(1, self._width) or any(number >= total for number in numbers):
            raise StateError(
                f"the state is of other streams than these {total}: it is at {numbers}, next {next_dataset}"
            )
        if any(ended > 1 for ended in exhausted) or not all(isinstance(own, dict) for own in states):
            raise StateError(
                "the state must have a dict for each stream of the cycle, and 0 or 1 for whether it has ended, "
                f"got {states!r:.200} and {exhausted!r:.200}"
            )
        slots: list[_Slot] = []
        try:
            for number, own, ended in zip(numbers, states, exhausted, strict=True):
                slots.append(_Slot(number, None, own))
                if not ended:
                    slots[-1].iterator = iterator = self._starter.start(number)
                    iterator.set_state(own)
        except BaseException:
            for slot in slots:
                slot.end()
            raise
        for slot in self._slots:
            slot.end()
        self._slots, self._turn, self._next_dataset = slots, turn, next_dataset
        self._starter.forget()

    def start_prefetch(self) -> None:
        for slot in self._slots:
            if slot.iterator is not None:
                slot.iterator.start_prefetch()

    def close(self) -> None:
        super().close()
        self._starter.close()
        for slot in self._slots:
            slot.end()


class _Starter:
    """Starts streams, the next few ahead of their turn by threads of its own."""

    def __init__(self, node: StreamInterleave, start: Start) -> None:
        self._nodes = node.components
        self._threads = node.num_make_iter_threads
        # A pool of workers is used by one thread only.
        alone = not self._threads or context.current().workers is not None
        self._ahead = 0 if alone else node.make_iter_buffer_size
        self._start = start
        self._context = contextvars.copy_context()  # the options and workers of the pipeline hold for later streams too
        self._pool: ThreadPoolExecutor | None = None
        self._coming: dict[int, Future[DatasetIterator[Any]]] = {}

    def start(self, number: int) -> DatasetIterator[Any]:
        """Returns stream `number` at its beginning."""
        return self._context.copy().run(self._start, self._nodes[number])

    def take(self, number: int) -> DatasetIterator[Any]:
        """Returns stream `number`, started now or before; raises what starting it raised."""
        coming = self._coming.pop(number, None)
        return self.start(number) if coming is None else coming.result()

    def look_ahead(self, number: int) -> None:
        """Begins to start the streams from `number` on."""
        for later in range(number, min(number + self._ahead, len(self._nodes))):
            if later not in self._coming:
                if self._pool is None:
                    self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="grain-interleave")
                self._coming[later] = self._pool.submit(self._start_ahead, later)

    def _start_ahead(self, number: int) -> DatasetIterator[Any]:
        iterator = self.start(number)
        iterator.start_prefetch()
        return iterator

    def forget(self) -> None:
        """Lets the streams go that were started ahead."""
        for coming in self._coming.values():
            if not coming.cancel() and coming.exception() is None:
                coming.result().close()
        self._coming.clear()

    def close(self) -> None:
        """Ends the threads."""
        self.forget()
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
