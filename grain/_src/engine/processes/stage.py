"""The iterator over a stage that worker processes compute: it asks for blocks ahead and hands them out in order."""

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from operator import length_hint
from typing import TYPE_CHECKING, Any

from grain._src.engine.plan import Stage
from grain._src.engine.positions import Positions
from grain._src.engine.processes.pool import Pool
from grain._src.engine.processes.sizes import BlockSize
from grain._src.engine.processes.task import Reply, Task
from grain._src.errors import StateError, WorkerDied
from grain._src.nodes.base import MapNode
from grain._src.nodes.blame import annotate
from grain._src.nodes.drops import Drops
from grain._src.nodes.steps import Step
from grain._src.nodes.stream import DatasetIterator, Run, StreamNode

if TYPE_CHECKING:
    from grain._src.columns import Packed

_BLOCK_RECORDS = 8192
# While an element holds everything up, workers may go on this far, as long as what they compute is small.
_STALL_BLOCKS = 64
_STALL_BYTES = 64 << 20


class StageIterator(DatasetIterator[Any]):
    """Gives what the stage gives inline: the same elements, errors and states."""

    def __init__(self, stage: Stage, pool: Pool) -> None:
        super().__init__()
        self._stage = stage
        self._positions = Positions(stage)
        self._pool = pool
        self._number = pool.add_stage(stage)
        self._length = stage.root.parent.length
        self._tasks: deque[Task] = deque()
        self._blocks = BlockSize(max(1, _BLOCK_RECORDS // stage.unit), stage.unit * stage.root.parent.width)
        self._ahead = pool.num_workers * (1 + pool.buffer_size)
        self._alone = pool.num_workers == 1  # no element holds up anybody but its own worker
        self._drops = Drops(f"`{' → '.join(node.describe() for node in (stage.root.parent, *stage.chain[1:]))}`")
        self._plain: DatasetIterator[Any] | None = None  # what runs instead once a hole has turned up
        self._seek(self._positions.initial())

    def _seek(self, state: dict[str, Any]) -> None:
        """Goes to a state: forgets what was computed ahead."""
        for task in self._tasks:
            self._pool.cancel(task)
        self._tasks.clear()
        self._blocks.restart()
        self._next_state = state  # with which the next block begins
        self._next_position = self._positions.of(state)
        self._show([], state, None)

    def _show(self, block: "list[Any] | Packed", state: dict[str, Any], marks: Any) -> None:
        """Makes a block the current one; `state` is the one before its first element."""
        elements, packed = (block, None) if isinstance(block, list) else ((), block)
        self._items: Iterator[Any] = iter(elements)
        # What came by columns becomes elements when those are wanted; until then parts of it go on as they are.
        self._packed, self._parted = packed, 0
        self._count = len(elements) if packed is None else packed.size
        self._state = state
        self._marks = marks
        self._error: BaseException | None = None
        self._error_state: dict[str, Any] | None = None

    def __next__(self) -> Any:
        if self._plain is not None:
            return next(self._plain)
        while True:
            for element in self._items:
                return element
            self._advance()
            if self._plain is not None:
                return next(self._plain)

    def pull(self, count: int) -> list[Any]:
        if self._plain is not None:
            return self._plain.pull(count)
        return super().pull(count)

    def pull_run(self, count: int) -> Run | None:
        before = self.get_state()
        elements: Sequence[Any] = ()
        seen = 0
        while self._plain is None and not elements:
            seen = self._seen
            if self._packed is not None:
                elements = self._packed.part(seen, min(seen + count, self._count))
                self._parted += len(elements)
                if self._parted == self._count:
                    self._packed = None
            else:
                elements = list(islice(self._items, count))
            if not elements:
                try:
                    self._advance()
                except StopIteration:
                    break
        if self._plain is not None:
            return self._plain.pull_run(count)
        state, marks = self._state, self._marks
        return Run(elements, lambda number: self._state_within(state, marks, seen + number) if number else before)

    def _advance(self) -> None:
        """Goes on to the next block that is not empty; raises the error that stands at its place, or StopIteration."""
        if self._closed:
            raise ValueError(f"Trying to advance a closed iterator: {self._stage.node.describe()}")
        if self._packed is not None:
            items = iter(self._packed.elements(self._parted))
            self._items, self._packed = items, None
            return
        if self._error is not None:
            error = self._error
            self._seek(self._error_state or self._state)
            raise error
        before = self._items, self._count, self._state, self._marks
        try:
            self._go_on()
        except Exception:
            raise
        except BaseException:
            # Ctrl-C in the middle loses nothing: what was seen last is where we are.
            self._packed = None
            self._items, self._count, self._state, self._marks = before
            self._seek(self.get_state())
            raise

    def _go_on(self) -> None:
        if not self._tasks:
            self._fill()
        if not self._tasks:
            here = self.get_state()
            self._show([], self._positions.moved(here, max(self._length, self._positions.of(here))), None)
            raise StopIteration
        task = self._tasks[0]
        if task.reply is not None:
            self._pool.step(0.0)  # those who have finished get more to do, though nobody waits for them
        while task.reply is None:
            self._pool.step()
            if task.reply is None:
                self._fill()
        self._tasks.popleft()
        self._take(task, task.reply)

    def _take(self, task: Task, reply: Reply) -> None:
        if reply.holes:
            self._pool.cancel(task)
            self._run_plainly(task.request[0])
            return
        done = task.request[1]
        if reply.rest is not None:
            done = self._positions.of(reply.rest.request[0])
            self._tasks.appendleft(reply.rest)
        self._blocks.learn(task, reply)
        self._fill()  # whoever computed it goes on while we look at it
        block = reply.elements_or_columns()
        count = len(block) if isinstance(block, list) else block.size
        error = reply.error
        if error is not None and reply.state is None:
            self._blame(error, task)
        if not count and error is not None:
            self._seek(reply.state or task.request[0])
            raise error
        # A block that has nothing for us does not move us.
        self._show(block, task.request[0] if count else self.get_state(), reply.marks)
        if self._stage.thinned and not self._stage.grouped and error is None:
            seen = done - self._positions.of(task.request[0])
            self._drops.add(seen, seen - count)
        if error is not None:
            after = self._state_within(self._state, self._marks, count)
            self._error, self._error_state = error, reply.state or after

    def _blame(self, error: BaseException, task: Task) -> None:
        """Names the elements that a worker could not compute or send."""
        start = self._positions.of(task.request[0])
        if isinstance(error, WorkerDied):
            annotate(error, self._stage.root.parent, start)
            stop = start + self._stage.unit if len(task.request) > 2 else task.request[1]
            error.add_note(f"grain: the elements are those made of positions {start} to {stop - 1}")

    def _window(self) -> int:
        """How many blocks may be under way."""
        window = self._ahead
        if self._tasks and self._tasks[0].reply is None and self._pool.idle:
            finished = sum(task.reply is not None for task in self._tasks)
            if finished > len(self._tasks) - self._pool.num_workers:  # all but those that hold everything up
                affordable = _STALL_BYTES // max(1, self._blocks.nbytes)
                window = max(window, min(_STALL_BLOCKS * self._pool.num_workers, affordable))
        return window

    def _fill(self) -> None:
        """Asks for blocks as far ahead as the window allows."""
        while len(self._tasks) < self._ahead or (not self._alone and len(self._tasks) < self._window()):
            start, state = self._next_position, self._next_state
            if start >= self._length:
                return
            stop = start + self._blocks.size * self._stage.unit
            if stop > self._length:
                stop = self._length
            task = Task(self._number, (state, stop), self._blocks.size)
            self._tasks.append(task)
            self._next_position, self._next_state = stop, self._positions.moved(state, stop)
            self._pool.submit(task)

    def _run_plainly(self, state: dict[str, Any]) -> None:
        """From `state` on only reads in the workers and runs the steps here: a hole shifted what comes after it."""
        self._seek(state)
        root = Stage(self._stage.chain[:1], thinned=True)
        plain: DatasetIterator[Any] = StageIterator(root, self._pool)
        for node in self._stage.chain[1:]:
            assert isinstance(node, StreamNode)
            plain = node.build([plain])
        plain.set_state(state)
        self._plain = plain

    @property
    def _seen(self) -> int:
        """How many elements of the block are handed out."""
        return self._parted if self._packed is not None else self._count - length_hint(self._items)

    def get_state(self) -> dict[str, Any]:
        if self._plain is not None:
            return self._plain.get_state()
        return self._state_within(self._state, self._marks, self._seen)

    def _state_within(self, state: dict[str, Any], marks: Any, seen: int) -> dict[str, Any]:
        """Returns the state after `seen` elements of a block that began with `state` and has those marks."""
        if not seen:
            return state
        if marks is None:
            start = self._positions.of(state)
            return self._positions.moved(state, min(start + seen * self._stage.unit, self._length))
        mark = marks[seen - 1]
        return mark if self._stage.grouped else self._positions.moved(state, int(mark))

    def set_state(self, state: dict[str, Any]) -> None:
        if not 0 <= (index := self._positions.of(state)) <= self._length:
            raise StateError(f"'next_index' in the state must be from 0 to {self._length}, got {index}")
        self._plain = None
        self._seek(state)

    @property
    def record_position(self) -> int:
        """The position of the next record, where inline the steps that follow would see it too."""
        if not all(isinstance(node, Step) for node in self._stage.chain[1:]) or self._plain is not None:
            raise AttributeError("record_position")
        return self._positions.of(self.get_state())

    @property
    def record_source(self) -> MapNode:
        """Where the records are that positions count."""
        return self._stage.root.parent

    def start_prefetch(self) -> None:
        self._fill()

    def close(self) -> None:
        if not self._closed:
            state = self.get_state()
            self._closed = True
            if self._plain is not None:
                self._plain.close()
            self._tasks.clear()
            self._show([], state, None)
