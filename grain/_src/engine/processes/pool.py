"""A pool of worker processes that compute blocks; blocks of a worker that dies are computed again by another.

Nothing runs in the background of the training process: whoever waits for a block reads the sockets.
"""

import contextlib
import itertools
import os
import select
import signal
import sys
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from grain._src.engine import processes
from grain._src.engine.plan import Stage
from grain._src.engine.processes.messages import BLOCK, DONE, FAILED, INIT, READY, SKIP, STAGE, UNKNOWN_MODULE
from grain._src.engine.processes.process import Forks, WorkerProcess, end_all, how_it_ended
from grain._src.engine.processes.task import Reply, Task
from grain._src.errors import UnpicklableError, WorkerError
from grain._src.nodes.stream import is_interrupt
from grain._src.options import MultiprocessingOptions
from grain._src.transport.channel import ChannelClosed, Frame
from grain._src.warn import warn

if TYPE_CHECKING:
    from grain._src.transport.share import Shared

_ARENA_BYTES = 1 << 30
_MAX_FAILED_STARTS = 3
_SILENCE_SECONDS = 60.0
_STUCK_SECONDS = 2e-3
_STARTING_DEPTH = 2
_ALONE_SECONDS = 0.1  # so long the first worker may take for its first block before the others start


class Pool:
    """Worker processes: one at first, and the others when it has answered."""

    def __init__(
        self, options: MultiprocessingOptions, worker_init_fn: Callable[[int, int], None] | None = None
    ) -> None:
        self.num_workers = options.num_workers
        self.buffer_size = options.per_worker_buffer_size
        self._timeout = options.worker_timeout
        self._init = b"" if worker_init_fn is None else processes.dump_init(worker_init_fn)
        self._workers: list[WorkerProcess] = []
        self._sockets = select.poll()
        self._by_socket: dict[int, WorkerProcess] = {}
        self._stages: dict[int, Any] = {}
        self._shared: dict[int, Shared] = {}
        self._numbers = itertools.count()
        self._waiting: deque[Task] = deque()
        self._failed_starts = 0.0
        self._first_ready = float("inf")  # when a worker was ready for the first time
        self._all_start = self.num_workers == 1  # whether the others may start too
        self._picked, self._warned = -1, False
        self._broken: BaseException | None = None
        self._end = weakref.finalize(self, end_all, self._workers, self._shared)
        self._owner, self._forks = os.getpid(), Forks.count

    # What the iterators of stages call.

    def add_stage(self, stage: Any) -> int:
        """Returns the number under which workers know `stage`."""
        number = next(self._numbers)
        self._stages[number] = stage
        return number

    def add_optional_stage(self, stage: Any) -> int | None:
        """The same for one that can as well be computed here; None, and a warning, if it cannot be sent."""
        try:
            shared = processes.dump_work(stage)
        except UnpicklableError as error:
            warn(f"{error} Until then it is computed in this process.", RuntimeWarning)
            return None
        number = self.add_stage(stage)
        self._shared[number] = shared
        return number

    def pick_worker(self) -> int:
        """Returns a worker for a stream that only one can run; another one each time."""
        self._picked = (self._picked + 1) % self.num_workers
        return self._picked

    def submit(self, task: Task) -> None:
        """Hands a block to whoever is free."""
        if len(self._workers) < self.num_workers or self._forks != Forks.count:
            self.start()
        task.number = next(self._numbers)
        if not self._waiting and task.worker is None:
            worker = self._free_worker()
            if worker is not None:
                self._send(worker, task)
                return
        self._waiting.append(task)
        self._dispatch()

    def cancel(self, task: Task) -> None:
        """Forgets a block; a result that still comes is dropped."""
        task.cancelled = True
        if task.reply is not None:
            self._drop(task.reply)
            if task.reply.rest is not None:
                self.cancel(task.reply.rest)
        elif task in self._waiting:
            self._waiting.remove(task)
        else:
            for worker in (worker for worker in self._workers if task in worker.tasks):
                with contextlib.suppress(ChannelClosed):
                    worker.channel.send((SKIP, task.number))

    @property
    def idle(self) -> bool:
        """Whether some worker has nothing to do."""
        return not self._waiting and self._idle_worker() is not None

    def start(self) -> None:
        """Starts the processes if they are not running."""
        self._check_open()
        # The others start when one has answered: they would only slow each other, and the first element, down.
        while len(self._workers) < (self.num_workers if self._all_start else 1):
            self._spawn(len(self._workers))

    def _start_all(self) -> None:
        self._all_start = True
        self.start()

    def _check_open(self) -> None:
        if not self._end.alive:
            raise ValueError("Trying to advance a closed iterator: its worker processes have ended")
        if self._forks != Forks.count:
            raise WorkerError(f"these workers belong to process {self._owner}: make another iterator in this one")

    def close(self) -> None:
        """Ends the processes."""
        self._end()

    # Processes.

    def _dump(self, number: int) -> "Shared":
        try:
            self._shared[number] = processes.dump_work(self._stages[number])
        except UnpicklableError as error:
            self._broken = error
            raise
        return self._shared[number]

    def _spawn(self, index: int) -> WorkerProcess:
        worker = WorkerProcess(index)
        self._workers.insert(index, worker)
        self._by_socket[worker.socket] = worker
        self._sockets.register(worker.socket, select.POLLIN)
        with contextlib.suppress(ChannelClosed):
            worker.channel.send((INIT, index, self.num_workers, _ARENA_BYTES // self.num_workers), self._init)
        return worker

    def _dispatch(self) -> None:
        self.start()
        depth = 1 + self.buffer_size
        held = []
        while self._waiting:
            task = self._waiting.popleft()
            if task.worker is not None:
                worker = self._workers[task.worker % len(self._workers)]
                if len(worker.tasks) < depth:
                    self._send(worker, task)
                else:
                    held.append(task)  # only that worker will do
            elif (free := self._free_worker()) is not None:
                self._send(free, task)
            else:
                self._waiting.appendleft(task)
                break
        self._waiting.extendleft(reversed(held))

    def _free_worker(self) -> WorkerProcess | None:
        """Returns the worker that has the least to do, if it may take more.

        While some are starting the others take little ahead: else they would compute what comes first, one after the other,
        when the rest is there to help. Before anyone is ready the first one is given what it is going to begin with.
        """
        found, starting = self._workers[0], len(self._workers) < self.num_workers
        for worker in self._workers:
            if not worker.ready:
                starting = True
            elif len(worker.tasks) < len(found.tasks) or not found.ready:
                found = worker
        depth = min(_STARTING_DEPTH, 1 + self.buffer_size) if starting else 1 + self.buffer_size
        return found if len(found.tasks) < depth else None

    def _send(self, worker: WorkerProcess, task: Task) -> None:
        if task.stage not in worker.stages:
            # Pickled when it is needed, which is while the workers are still starting.
            shared = self._shared.get(task.stage) or self._dump(task.stage)
            with contextlib.suppress(ChannelClosed):
                worker.channel.send((STAGE, task.stage), shared.payload, shared.fds)
            worker.stages.add(task.stage)
        if not worker.tasks:
            worker.since = time.monotonic()
        worker.tasks.append(task)
        message = BLOCK, task.number, task.stage, worker.leases.take_released(), task.request
        try:
            worker.channel.send(message, task.body)
        except ChannelClosed:  # its end is noticed when it is read
            return

    def step(self, timeout: float = 1.0) -> None:
        """Reads and writes what the sockets allow; waits at most `timeout` seconds for something to happen."""
        if not self._workers or self._forks != Forks.count:
            self._check_open()
        if self._broken is not None:
            raise self._broken
        for worker in self._workers:
            if worker.channel.outgoing or worker.writing:
                worker.writing = bool(worker.channel.outgoing)
                self._sockets.modify(worker.socket, select.POLLIN | (select.POLLOUT if worker.writing else 0))
        # While somebody has nothing to do we look now and then whether another one is stuck.
        several = timeout > 0 and self.num_workers > 1
        seconds = min(timeout, _STUCK_SECONDS) if several and self._stuck() else timeout
        if not self._all_start:
            seconds = min(seconds, _ALONE_SECONDS)
            if time.monotonic() - self._first_ready > _ALONE_SECONDS:
                self._start_all()
        ready = self._sockets.poll(1000 * seconds)
        try:
            for socket, events in ready:
                worker = self._by_socket[socket]
                try:
                    if events & select.POLLOUT:
                        worker.channel.flush()
                    if events & ~select.POLLOUT:  # something to read, or the end
                        for frame in worker.channel.receive_ready():
                            self._receive(worker, frame)
                except ChannelClosed:
                    self._bury(worker)
        except BaseException as error:
            if not is_interrupt(error):
                raise
            # Ctrl-C in the middle of a message: what was read may be lost, so all of it is computed again.
            for worker in self._workers:
                worker.condemn(innocent=True)
            raise
        if timeout and not ready:
            self._watch()
        if self._waiting:
            self._dispatch()
        elif several:
            self._relieve()

    def _stuck(self) -> WorkerProcess | None:
        """Returns a worker with a block in its queue that somebody who has nothing to do could compute."""
        if self._waiting or self._idle_worker() is None:
            return None
        busiest = max(self._workers, key=lambda worker: len(worker.tasks))
        movable = len(busiest.tasks) > 1 and busiest.tasks[-1].worker is None and not busiest.tasks[-1].cancelled
        return busiest if movable else None

    def _relieve(self) -> None:
        """Gives what waits behind a slow block to those who have nothing to do."""
        while (stuck := self._stuck()) is not None and time.monotonic() - stuck.since >= _STUCK_SECONDS:
            task = stuck.tasks[-1]
            ghost = Task(task.stage, task.request, task.size)  # stands for the answer that the worker is going to give
            ghost.number, ghost.cancelled = task.number, True
            stuck.tasks[-1] = ghost
            with contextlib.suppress(ChannelClosed):
                stuck.channel.send((SKIP, task.number))
            task.number = next(self._numbers)
            idle = self._idle_worker()
            assert idle is not None
            self._send(idle, task)

    def _idle_worker(self) -> WorkerProcess | None:
        for worker in self._workers:
            if worker.ready and not worker.tasks:
                return worker
        return None

    def _receive(self, worker: WorkerProcess, frame: Frame) -> None:
        match frame.message:
            case (tag, number, head, marks, error, state, unfinished, *about) if tag == DONE:
                if head[0]:
                    worker.leases.adopt(head, frame.fds)
                if worker.condemned:
                    return
                task = worker.tasks[0]
                assert task.number == number
                worker.since = time.monotonic()
                failure = None
                if error is not None:
                    failure = processes.decode_error(error)
                    if isinstance(failure, MemoryError) and not task.deaths:
                        worker.condemn()  # a fresh one has more room; its end counts as a death of the block
                        return
                rest = task.rest_from(state) if unfinished else None
                values = failure, head, frame.body, worker.leases, marks, state, *about, rest
                reply = tuple.__new__(Reply, values)  # quicker than `Reply(…)`
                if task.cancelled:
                    self._drop(reply)
                else:
                    task.reply = reply
                worker.tasks.popleft()
                if rest is not None:
                    worker.tasks.appendleft(rest)
                if not self._all_start:
                    self._start_all()
            case (tag, initialised) if tag == READY:
                worker.ready = initialised
                worker.since = time.monotonic()
                self._first_ready = min(self._first_ready, worker.since)
                self._failed_starts = 0.0 if initialised else self._failed_starts
            case (tag, number, module, error) if tag == UNKNOWN_MODULE:
                self._send_by_value(worker, number, module, error)
            case (tag, error) if tag == FAILED:
                self._broken = processes.decode_error(error)
                raise self._broken

    @staticmethod
    def _drop(reply: Reply) -> None:
        if reply.leases is not None:
            reply.leases.discard(reply.head)

    def _send_by_value(self, worker: WorkerProcess, number: int, module: str, error: bytes) -> None:
        """Sends a stage again with a module that the worker cannot import pickled into it."""
        loaded = sys.modules.get(module)
        if loaded is None or (number, module) in worker.sent_by_value:
            self._broken = processes.decode_error(error)
            raise self._broken
        import cloudpickle

        worker.sent_by_value.add((number, module))
        if module not in cloudpickle.list_registry_pickle_by_value():
            cloudpickle.register_pickle_by_value(loaded)
            self._shared[number].close()
            self._dump(number)
        worker.stages.discard(number)
        again = [task for task in worker.tasks if task.stage == number]
        worker.tasks = deque(task for task in worker.tasks if task.stage != number)
        for task in again:
            self._send(worker, task)

    # Faults.

    def _bury(self, worker: WorkerProcess) -> None:
        """Replaces a worker that has died and has its blocks computed again."""
        self._check_open()  # or somebody has ended all of them, while this thread waited
        status = worker.end()
        self._sockets.unregister(worker.socket)
        del self._by_socket[worker.socket]
        worker.release()
        self._workers.remove(worker)
        how = how_it_ended(status)
        if not worker.ready:
            # Whoever kills workers at random also hits some that are starting.
            self._failed_starts += 1.0 if status >= 0 else 0.1
            if self._failed_starts >= _MAX_FAILED_STARTS:
                self._broken = WorkerError(f"worker processes do not start: the last one {how} before it was ready")
                raise self._broken
        if worker.tasks:
            suspect = worker.tasks[0]
            suspect.deaths += worker.ready and not worker.innocent
            if suspect.deaths and isinstance(self._stages[suspect.stage], Stage):
                suspect.request = (*suspect.request[:2], 1)  # output by output, to know which one it is
            if suspect.is_hopeless(-status in (signal.SIGKILL, signal.SIGTERM) and not worker.condemned):
                worker.tasks.popleft()
                suspect.fail(f"was silent for more than worker_timeout ({self._timeout} s)" if worker.late else how)
        again = deque(task for task in worker.tasks if not task.cancelled and task.reply is None)
        fresh = self._spawn(worker.index)
        if again and again[0].deaths:
            # Where nothing else has run: elsewhere a thread may still be reading ahead the very element that kills.
            self._send(fresh, again.popleft())
        self._waiting.extendleft(reversed(again))
        if not self._warned and not worker.innocent:
            self._warned = True
            warn(
                f"worker process {worker.index} {how}; it is replaced and its elements are computed again. "
                "Nothing is lost or repeated. (This is said once.)",
                RuntimeWarning,
            )

    def _watch(self) -> None:
        """Looks for workers that have been silent for too long."""
        limit = self._timeout if self._timeout is not None else _SILENCE_SECONDS
        now = time.monotonic()
        for worker in self._workers:
            if worker.gets_on():
                worker.heard = now
            silence = now - max(worker.since, worker.heard)
            if not worker.tasks or silence < (limit if worker.ready else max(limit, _SILENCE_SECONDS)):
                continue
            late = f"worker process {worker.index} has not answered for {silence:.1f} s; it is at:\n{worker.stack()}"
            worker.since = now
            if self._timeout is not None:
                late += "It counts as dead."
                worker.late = True
                worker.condemn()
            warn(late, RuntimeWarning)
