"""Runs a stage inline over one block: what a worker does with a request."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import islice
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from grain._src.engine.fan import Fan, Reads
from grain._src.engine.inline import BLOCK_RECORDS, InlineReader
from grain._src.engine.plan import Remote, Spread, Stage
from grain._src.engine.positions import Positions
from grain._src.engine.reader import ReaderIterator
from grain._src.nodes.at_once import next_at_once
from grain._src.nodes.steps import ElementwiseIterator, StreamFilter
from grain._src.nodes.stream import DatasetIterator, StreamNode
from grain._src.transport.codec import decode

_LATE_SECONDS = 0.5  # after which a block goes back in parts
_SILENT_SECONDS = 1e-3  # what takes longer shows that it gets on
_AT_ONCE_SECONDS = 4e-3  # nobody waits for a part of a block, and between two the user's code drops out of the cache


class Outcome:
    """What a block gave.

    Args:
      elements: the outputs before the error, if any.
      marks: where the stage was after each output: positions, or whole states for a grouped stage; None if each took
        one unit.
      error: what was raised after the outputs.
      state: where the stage is after the error, or where it stopped before the block was done.
      unfinished: whether it did, and there is more to come.
      holes: whether there were holes although the stage relies on none.
      records: how many records a block should have for those who read it.
    """

    __slots__ = ("elements", "error", "holes", "marks", "records", "state", "unfinished")

    def __init__(self) -> None:
        self.elements: list[Any] = []
        self.marks: Sequence[Any] | np.ndarray[Any, Any] | None = None
        self.error: BaseException | None = None
        self.state: dict[str, Any] | None = None
        self.unfinished = False
        self.holes = False
        self.records = 1


class Local(Protocol):
    """What a worker keeps ready for a stage."""

    def run(self, body: bytes | memoryview, /, *request: Any) -> Outcome:
        """Returns what the block of `request` gives."""


def make_local(
    stage: Stage | Spread | Remote,
    workers: int = 1,
    tick: Callable[[], None] = lambda: None,
    upcoming: Callable[[], tuple[Any, ...] | None] = lambda: None,
) -> Local:
    """Returns the stage at work.

    Args:
      stage: what to run.
      workers: how many processes run it.
      tick: called when it gets on.
      upcoming: returns the request after this one, if it is there.
    """
    match stage:
        case Stage():
            return LocalStage(stage, workers, tick, upcoming)
        case Spread():
            return LocalSpread(stage)
        case Remote():
            return LocalRemote(stage)


class LocalStage:
    """A stage that is kept ready and sent from block to block."""

    def __init__(
        self,
        stage: Stage,
        workers: int,
        tick: Callable[[], None],
        upcoming: Callable[[], tuple[Any, ...] | None],
    ) -> None:
        self._stage = stage
        self._positions = Positions(stage)
        self._tick = tick
        self._upcoming_request = upcoming
        self._fan = Fan(int(stage.root.read_options.num_threads), workers, self._upcoming)
        self._reader = InlineReader(stage.root.parent, BLOCK_RECORDS)
        self._root = ReaderIterator(stage.root.parent, self._reader, stage.root.allow_nones)
        iterator: DatasetIterator[Any] = self._root
        for node in stage.chain[1:]:
            assert isinstance(node, StreamNode)
            iterator = node.build([iterator])
        self._iterator = iterator
        self._marked = stage.grouped or any(isinstance(node, StreamFilter) for node in stage.chain)

    def run(self, _: object, state: dict[str, Any], stop: int, most: int | None = None) -> Outcome:
        """Returns the outputs from `state` on whose records come before position `stop`.

        It stops before the end after `most` outputs, or when it has taken long: what is done need not wait for the rest.
        """
        outcome = Outcome()
        self._reader.stop = stop
        try:
            self._iterator.set_state(state)
        except Exception as error:  # the state is of another pipeline, or an element to look into again fails
            outcome.error, outcome.state = error, state
            return outcome
        start = self._root.position
        holes = self._root.holes = []
        marks: list[Any] | None = [] if self._marked else None
        outcome.marks = marks
        try:
            # One that killed its worker is read record by record, to know which it is.
            with self._fan if most is None else nullcontext():
                if not self._pull(outcome.elements, marks, most):
                    outcome.state, outcome.unfinished = self._iterator.get_state(), True
        except BaseException as error:
            outcome.error = error
            outcome.state = self._iterator.get_state()
        outcome.records = self._fan.records
        outcome.holes = bool(holes) and self._stage.dense
        if holes and not self._marked:
            kept = np.delete(np.arange(start, stop), np.array(holes) - start)
            outcome.marks = kept[: len(outcome.elements)] + 1
        return outcome

    def _upcoming(self) -> Reads | None:
        """Returns what the next block is going to read first, if this one has no more to read."""
        request = self._upcoming_request() if self._reader.done else None
        if request is None or len(request) > 2:  # that one killed its worker, and is read record by record
            return None
        state, stop = request
        return self._stage.root.parent, self._reader.upcoming(self._positions.of(state), stop)

    def _pull(self, elements: list[Any], marks: list[Any] | None, most: int | None) -> bool:
        """Takes the outputs, some at a time; says whether these are all."""
        began = at = perf_counter()
        count = 1
        while True:
            wanted = count if most is None else min(count, most - len(elements))
            if self._pull_some(elements, marks, wanted):
                return True
            now = perf_counter()
            if len(elements) == most or (now - began > _LATE_SECONDS and not self._fan.fanned):
                return False
            if now - at >= _SILENT_SECONDS:
                self._tick()
            count = next_at_once(count, wanted, now - at, _AT_ONCE_SECONDS)
            at = now

    def _pull_some(self, elements: list[Any], marks: list[Any] | None, count: int) -> bool:
        """Takes up to `count` outputs; says whether there are no others."""
        root, iterator, grouped = self._root, self._iterator, self._stage.grouped
        run = iterator.pull_run(count) if marks is None else None
        if run is not None:
            elements += run.elements
            if run.error is not None:
                raise run.error
            return not run.elements
        wanted = len(elements) + count
        if marks is None:
            elements.extend(islice(iterator, count))
        else:
            for element in islice(iterator, count):
                elements.append(element)
                marks.append(iterator.get_state() if grouped else root.position)
        return len(elements) < wanted


class LocalRemote:
    """A stream that is run here and nowhere else."""

    def __init__(self, remote: Remote) -> None:
        self._iterator = remote.node.build(())

    def run(self, _: object, state: dict[str, Any] | None, count: int) -> Outcome:
        """Returns the next `count` elements, from `state` on if it is given; marks are the states after each."""
        outcome = Outcome()
        outcome.marks = marks = []
        if state is not None:
            self._iterator.set_state(state)
        try:
            for element in islice(self._iterator, count):
                outcome.elements.append(element)
                marks.append(self._iterator.get_state())
        except Exception as error:
            outcome.error = error
        outcome.state = self._iterator.get_state()
        return outcome


class LocalSpread:
    """A run of steps over elements that are sent along."""

    def __init__(self, spread: Spread) -> None:
        self._inputs = _Inputs()
        self._iterator = ElementwiseIterator(self._inputs, spread.steps)
        self._initial = self._iterator.get_state()

    def run(self, body: bytes | memoryview, head: Any, numbers: list[int], count: int) -> Outcome:
        """Returns the outputs of the elements in `body`; marks say after how many inputs each came.

        Args:
          body: the encoded elements.
          head: how they are encoded.
          numbers: the elements' numbers, for the steps that draw random numbers.
          count: the number of the first, for the steps that hand it on.
        """
        outcome = Outcome()
        outcome.marks = marks = []
        state = self._initial
        inputs = self._inputs
        self._iterator.set_state(_with_count(state, count))
        inputs.begin(decode(head, body, None), numbers)
        try:
            for element in self._iterator:
                outcome.elements.append(element)
                marks.append(inputs.pulled)
        except Exception as error:
            outcome.error = error
            outcome.state = {"pulled": inputs.pulled, "count": _counter(self._iterator.get_state())}
        inputs.begin([], [])
        return outcome


def _with_count(state: dict[str, Any], count: int) -> dict[str, Any]:
    """Returns the initial state of a run of steps with its counters set."""
    return {key: _with_count(value, count) if key == "parent" else count for key, value in state.items()}


def _counter(state: dict[str, Any]) -> int | None:
    """Returns how many inputs the numbering step among the steps has had."""
    while "parent" in state:
        if "counter" in state:
            return int(state["counter"])
        state = state["parent"]
    return None


class _Inputs(DatasetIterator[Any]):
    """The elements of a request, with their numbers as positions."""

    def __init__(self) -> None:
        super().__init__()
        self.begin([], [])

    def begin(self, elements: list[Any], numbers: list[int]) -> None:
        self._elements = iter(elements)
        self._numbers = numbers
        self.pulled = 0

    @property
    def record_position(self) -> int:
        return self._numbers[self.pulled - 1] + 1 if self.pulled else 0

    def __next__(self) -> Any:
        element = next(self._elements)
        self.pulled += 1
        return element

    def get_state(self) -> dict[str, Any]:
        return {}

    def set_state(self, state: dict[str, Any]) -> None:
        pass
