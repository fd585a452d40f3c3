"""A stream without random access, run by one worker: its elements come back with the state after each."""

from collections import deque
from operator import length_hint
from typing import Any

from grain._src.engine.plan import Remote
from grain._src.engine.processes.pool import Pool
from grain._src.engine.processes.sizes import BlockSize
from grain._src.engine.processes.task import Reply, Task
from grain._src.nodes.stream import DatasetIterator

_MOST = 1024


class RemoteIterator(DatasetIterator[Any]):
    """Gives what the stream gives here. If its worker dies, another goes on from the last state that is known."""

    def __init__(self, remote: Remote, pool: Pool) -> None:
        super().__init__()
        self._pool = pool
        self._number = pool.add_stage(remote)
        self._worker = pool.pick_worker()
        self._tasks: deque[Task] = deque()
        self._blocks = BlockSize(_MOST)
        # States are checked against the stream itself, here, where an error reaches the user.
        self._checker = remote.node.build(())
        self._seek(self._checker.get_state())

    def _seek(self, state: dict[str, Any]) -> None:
        for task in self._tasks:
            self._pool.cancel(task)
        self._tasks.clear()
        self._state = self._known = state
        self._fresh = True  # the worker's stream is somewhere else: the next request says where to go
        self._ended = False
        self._show([], [])

    def _show(self, elements: list[Any], marks: list[dict[str, Any]]) -> None:
        self._items = iter(elements)
        self._marks = marks
        self._error: BaseException | None = None

    def __next__(self) -> Any:
        while True:
            for element in self._items:
                return element
            self._advance()

    def _advance(self) -> None:
        if self._closed:
            raise ValueError("Trying to advance a closed iterator")
        self._state = here = self.get_state()
        try:
            self._go_on()
        except Exception:
            raise
        except BaseException:
            self._seek(here)  # Ctrl-C in the middle loses nothing
            raise

    def _go_on(self) -> None:
        if self._error is not None:
            error = self._error
            self._show([], [])
            self._state = self._known
            raise error
        if self._ended:
            self._state = self._known
            raise StopIteration
        self._fill()
        task = self._tasks[0]
        while task.reply is None:
            self._pool.step()
        self._tasks.popleft()
        self._take(task, task.reply)

    def _take(self, task: Task, reply: Reply) -> None:
        elements = reply.elements()
        self._blocks.learn(task, reply)
        if reply.state is not None:
            self._known = reply.state
        if self._tasks:
            # Should the worker die now, another one begins here.
            self._tasks[0].request = (self._known, self._tasks[0].size)
        self._show(elements, list(reply.marks or []))
        self._error = reply.error
        self._ended = reply.error is None and len(elements) < task.size
        if not self._ended:
            self._fill()

    def _fill(self) -> None:
        while len(self._tasks) < 1 + self._pool.buffer_size:
            state = self._known if self._fresh else None
            self._fresh = False
            task = Task(self._number, (state, self._blocks.size), self._blocks.size, worker=self._worker)
            self._tasks.append(task)
            self._pool.submit(task)

    def get_state(self) -> dict[str, Any]:
        seen = len(self._marks) - length_hint(self._items)
        return self._marks[seen - 1] if seen > 0 else self._state

    def set_state(self, state: dict[str, Any]) -> None:
        self._checker.set_state(state)
        self._seek(state)

    def start_prefetch(self) -> None:
        self._fill()

    def close(self) -> None:
        self._closed = True
        self._tasks.clear()
        self._checker.close()
