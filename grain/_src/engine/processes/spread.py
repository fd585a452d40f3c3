"""Elementwise steps after an ordered one: their inputs are sent to workers, if that pays, and come back in order."""

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import chain
from operator import length_hint
from time import perf_counter
from typing import Any, NamedTuple

from grain._src import trees
from grain._src.engine.plan import Spread
from grain._src.engine.processes.pool import Pool
from grain._src.engine.processes.sizes import BlockSize
from grain._src.engine.processes.task import Reply, Task
from grain._src.nodes.steps import ElementwiseIterator, StreamMapWithIndex, StreamRandomMap
from grain._src.nodes.stream import DatasetIterator, closed_error
from grain._src.transport.codec import encode

_MOST = 1024  # inputs of a block
_TRIAL = 4  # elements that are computed here first, to see what they cost
# Sending an element there and back costs about this much, and this much per byte.
_SECONDS_A_TRIP = 3e-4
_SECONDS_A_BYTE = 2e-9


class _Input(NamedTuple):
    """An element to send, the parent's state after it, and its number."""

    element: Any
    state: dict[str, Any]
    number: int


class _Batch:
    """Inputs that are under way; `count` came before them since the last state that was set."""

    __slots__ = ("count", "inputs", "task")

    def __init__(self, count: int) -> None:
        self.count = count
        self.inputs: list[_Input] = []
        self.task: Task | None = None


class SpreadIterator(DatasetIterator[Any]):
    """Gives what `ElementwiseIterator` gives over the same parent: the same elements, errors and states."""

    def __init__(self, spread: Spread, parent: DatasetIterator[Any], pool: Pool) -> None:
        super().__init__(parent)
        self._spread = spread
        self._pool = pool
        self._number: int | None = None
        self._timed = _Timed(parent)
        self._inline = ElementwiseIterator(self._timed, spread.steps)
        self._failed_at = self._failed_count = 0
        self._failure: tuple[BaseException, dict[str, Any], int | None] | None = None  # the parent's, after all inputs
        self._trial_left = _TRIAL
        self._trial_seconds = 0.0
        self._trial_bytes = 0
        self._blocks = BlockSize(_MOST)
        self._batches: deque[_Batch] = deque()
        self._begin(self._inline.get_state())

    def _begin(self, state: dict[str, Any], backlog: Iterable[_Input] = ()) -> None:
        """Goes on from `state`: first with inputs that were pulled already, then with what the parent gives."""
        for batch in self._batches:
            if batch.task is not None:
                self._pool.cancel(batch.task)
        self._batches.clear()
        self._backlog = deque(backlog)
        self._base = state
        self._pulled = 0
        self._state = state
        self._show(_Batch(0), [], [])

    def _show(self, batch: _Batch, elements: list[Any], marks: Sequence[int]) -> None:
        self._items = iter(elements)
        self._count = len(elements)
        self._batch = batch
        self._marks = marks
        self._error: BaseException | None = None  # what the input after the last output raised

    def __next__(self) -> Any:
        if self._closed:
            raise closed_error(self._spread.steps[-1].describe())
        if self._number is None:
            return self._try_inline()
        while True:
            for element in self._items:
                return element
            self._advance()

    def _try_inline(self) -> Any:
        """Computes here, as long as workers would not do it sooner."""
        began, waited = perf_counter(), self._timed.seconds
        element = next(self._inline)
        if self._trial_left:
            self._trial_seconds += perf_counter() - began - (self._timed.seconds - waited)
            self._trial_bytes += trees.nbytes(element)
            self._trial_left -= 1
            if not self._trial_left and self._pays():
                self._number = self._pool.add_optional_stage(self._spread)
                if self._number is not None:
                    self._begin(self._inline.get_state())
        return element

    def _pays(self) -> bool:
        seconds, size = self._trial_seconds / _TRIAL, self._trial_bytes / _TRIAL
        return seconds > _SECONDS_A_TRIP + 2 * size * _SECONDS_A_BYTE

    def _advance(self) -> None:
        """Goes on to the next batch of inputs; raises the error that stands at its place, or StopIteration."""
        here = self.get_state()
        try:
            self._go_on(here)
        except Exception:
            raise
        except BaseException:
            self.set_state(here)  # Ctrl-C in the middle loses nothing
            raise

    def _go_on(self, here: dict[str, Any]) -> None:
        if self._error is not None:
            error, batch = self._error, self._batch
            rest = [
                *batch.inputs[self._failed_at :],
                *chain.from_iterable(b.inputs for b in self._batches),
                *self._backlog,
            ]
            self._begin(self._state_after(batch, self._failed_at, self._failed_count), rest)
            raise error
        self._state = here  # also while the next batch has nothing for us
        self._fill()
        if not self._batches:
            failure, state, position = self._failure or (StopIteration(), self._parent.get_state(), None)
            self._failure = None
            self._begin(self._wrap(state, self._pulled, position))
            raise failure
        task = self._batches[0].task
        assert task is not None
        while task.reply is None:
            self._pool.step()
            self._fill()
        self._take(self._batches.popleft(), task.reply)

    def _take(self, batch: _Batch, reply: Reply) -> None:
        elements = reply.elements()
        assert batch.task is not None
        self._blocks.learn(batch.task, reply)
        self._show(batch, elements, reply.marks or [])
        if reply.error is not None:
            self._error = reply.error
            told = reply.state or {"pulled": len(batch.inputs), "count": batch.count + len(batch.inputs)}
            self._failed_at, self._failed_count = told["pulled"], told["count"]

    def _submit(self, batch: _Batch) -> None:
        assert self._number is not None
        encoded = encode([[item.element for item in batch.inputs]], None)
        numbers = [item.number for item in batch.inputs]
        request = (encoded.head, numbers, self._counter_base() + batch.count)
        batch.task = Task(self._number, request, len(batch.inputs), bytes(encoded.body))
        self._pool.submit(batch.task)

    def _counter_base(self) -> int:
        state = self._base
        for step in reversed(self._spread.steps):
            if isinstance(step, StreamMapWithIndex):
                return int(state["counter"])
            if isinstance(step, StreamRandomMap):
                state = state["parent"]
        return 0

    def _fill(self) -> None:
        """Pulls inputs and sends them, as far ahead as the window allows."""
        window = self._pool.num_workers * (1 + self._pool.buffer_size)
        while (self._backlog or self._failure is None) and len(self._batches) < window:
            batch = _Batch(self._pulled)
            try:
                while len(batch.inputs) < self._blocks.size and (self._backlog or self._failure is None):
                    batch.inputs.append(self._backlog.popleft() if self._backlog else self._pull())
                    self._pulled += 1
            except Exception as error:
                self._failure = (error, self._parent.get_state(), getattr(self._parent, "record_position", None))
            if batch.inputs:
                self._submit(batch)
                self._batches.append(batch)

    def _pull(self) -> _Input:
        element = next(self._parent)
        number = getattr(self._parent, "record_position", self._numbered() + self._pulled + 1) - 1
        return _Input(element, self._parent.get_state(), number)

    def _numbered(self) -> int:
        """The number of the first input after the last state that was set."""
        state = self._base
        for step in reversed(self._spread.steps):
            if isinstance(step, StreamRandomMap):
                return int(state["index_for_rng"])
            if isinstance(step, StreamMapWithIndex):
                state = state["parent"]
        return 0

    def _wrap(
        self, parent_state: dict[str, Any], pulled: int, position: int | None, counter: int | None = None
    ) -> dict[str, Any]:
        """Returns the state after `pulled` inputs, when the parent was in `parent_state`."""
        state = parent_state
        for step in self._spread.steps:
            if isinstance(step, StreamRandomMap):
                number = self._numbered() + pulled if position is None else position
                state = {"parent": state, "index_for_rng": number}
            elif isinstance(step, StreamMapWithIndex):
                state = {"parent": state, "counter": self._counter_base() + pulled if counter is None else counter}
        return state

    def get_state(self) -> dict[str, Any]:
        if self._number is None:
            return self._inline.get_state()
        seen = self._count - length_hint(self._items)
        return self._state if not seen else self._state_after(self._batch, self._marks[seen - 1])

    def _state_after(self, batch: _Batch, inputs: int, counter: int | None = None) -> dict[str, Any]:
        last = batch.inputs[inputs - 1]
        return self._wrap(last.state, batch.count + inputs, last.number + 1, counter)

    def set_state(self, state: dict[str, Any]) -> None:
        self._inline.set_state(state)
        self._failure = None
        if self._number is not None:
            self._begin(state)

    def start_prefetch(self) -> None:
        self._parent.start_prefetch()
        if self._number is not None:
            self._fill()

    def close(self) -> None:
        self._batches.clear()
        super().close()


class _Timed(DatasetIterator[Any]):
    """A parent that says how long it has taken, so that the steps' own time is known."""

    def __init__(self, parent: DatasetIterator[Any]) -> None:
        super().__init__(parent)
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        if name == "record_position":
            return self._parent.record_position  # type: ignore[attr-defined]
        raise AttributeError(name)

    def __next__(self) -> Any:
        began = perf_counter()
        try:
            return next(self._parent)
        finally:
            self.seconds += perf_counter() - began

    def get_state(self) -> dict[str, Any]:
        return self._parent.get_state()

    def set_state(self, state: dict[str, Any]) -> None:
        self._parent.set_state(state)
