"""One worker process: how it is started, asked where it is, and ended."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grain._src.engine.processes.task import Task
from grain._src.errors import WorkerError
from grain._src.transport.channel import channel_pair
from grain._src.transport.lease import Leases

if TYPE_CHECKING:
    from grain._src.transport.share import Shared

# While it loads modules, and then the pipeline, next to nothing becomes garbage, but a collector would look at all of it.
_BOOTSTRAP = "import gc, sys; gc.disable(); sys.path[:] = {}; from grain._src.engine.processes.worker import main; main({}, {}, {}, {})"
# Workers must not take an accelerator, nor its memory, from the training process.
_HIDDEN_ACCELERATORS = {
    "JAX_PLATFORMS": "cpu",
    "JAX_PLATFORM_NAME": "cpu",
    "CUDA_VISIBLE_DEVICES": "",
    "HIP_VISIBLE_DEVICES": "",
    "ROCR_VISIBLE_DEVICES": "",
    "TPU_VISIBLE_CHIPS": "",
}
# Batches that were made elsewhere are copied past the cache: by the time they are used it holds something else, and
# reading the old contents of the memory into it first takes as long as the copy.
_COPY_PAST_CACHE = "glibc.cpu.x86_non_temporal_threshold"
_COPY_PAST_CACHE_BYTES = 4 << 20
# The threads of NumPy's linear algebra spin for so many cycles (a power of two) after they were started and after each
# use. By default that takes half as much processor time again as all of `import numpy`, on a core that others need.
_SPIN = {"OPENBLAS_THREAD_TIMEOUT": "18"}
_EXIT_SECONDS = 0.1
_DYING_SECONDS = 5.0  # a core dump takes its time


class Forks:
    """How many forks made this process of the one that loaded this module: workers belong to who started them."""

    count = 0

    @classmethod
    def add(cls) -> None:
        cls.count += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=Forks.add)


class WorkerProcess:
    """A worker as the training process sees it: the process, the channel, what it is doing."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.leases = Leases()
        self.tasks: deque[Task] = deque()
        self.stages: set[int] = set()
        self.writing = False  # whether the pool waits until it can write
        self.sent_by_value: set[tuple[int, str]] = set()  # (stage, module) that had to be pickled into it
        self.ready = False
        self.condemned = False  # it is about to be replaced: what it still says does not count
        self.innocent = False  # it is not to blame
        self.late = False  # it was silent for too long
        self.since = time.monotonic()  # when it began with the first of its tasks
        self.heard = 0.0  # when its block was last seen to get on
        self.channel, theirs = channel_pair()
        self.socket = self.channel.fileno()
        lifeline, self.lifeline = os.pipe()
        self.stacks, self._pulse = _memory_file("grain-stacks"), _memory_file("grain-pulse")
        self._last_pulse = b""
        try:
            fds = (theirs.fileno(), lifeline, self.stacks, self._pulse)
            with _without_interrupts():
                self.process = subprocess.Popen(
                    _command(fds),
                    pass_fds=fds,
                    stdin=subprocess.DEVNULL,
                    env={**_SPIN, **os.environ, **_HIDDEN_ACCELERATORS, "GLIBC_TUNABLES": _tunables()},
                )
        except BaseException:
            self.release()
            raise
        finally:
            theirs.close()
            os.close(lifeline)

    def stack(self) -> str:
        """Asks the worker where it is, and returns what it says."""
        os.ftruncate(self.stacks, 0)
        os.lseek(self.stacks, 0, os.SEEK_SET)
        with contextlib.suppress(OSError):
            self.process.send_signal(signal.SIGUSR1)
        deadline = time.monotonic() + 0.5
        while time.monotonic() < deadline:
            size = os.fstat(self.stacks).st_size
            time.sleep(0.02)
            if size and size == os.fstat(self.stacks).st_size:
                break
        return os.pread(self.stacks, 1 << 16, 0).decode(errors="replace")

    def gets_on(self) -> bool:
        """Whether the block that it computes has got on since this was asked before."""
        before, self._last_pulse = self._last_pulse, os.pread(self._pulse, 8, 0)
        return self._last_pulse != before

    def condemn(self, innocent: bool = False) -> None:
        """Has the worker replaced."""
        self.condemned = True
        self.innocent = innocent
        self.process.kill()

    def end(self) -> int:
        """Waits for a process that no longer talks, and ends it if it does not end; returns its exit status."""
        try:
            return self.process.wait(_DYING_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def release(self) -> None:
        """Closes what this side holds; the process must have ended or be about to."""
        self.channel.close()
        for name in ("lifeline", "stacks", "_pulse"):
            fd = getattr(self, name)
            setattr(self, name, -1)  # once: the number may be somebody else's by the next time
            if fd >= 0:
                os.close(fd)


def _memory_file(name: str) -> int:
    """A descriptor of a file in memory, which the worker writes and this process reads; elsewhere nothing comes back."""
    return os.memfd_create(name) if hasattr(os, "memfd_create") else os.open(os.devnull, os.O_RDWR)


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Holds Ctrl-C back; a process that is started meanwhile never sees it, from its first instruction on."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _tunables() -> str:
    set_by_user = os.environ.get("GLIBC_TUNABLES", "")
    if _COPY_PAST_CACHE in set_by_user:
        return set_by_user
    return f"{set_by_user}{':' * bool(set_by_user)}{_COPY_PAST_CACHE}={_COPY_PAST_CACHE_BYTES}"


def _command(fds: tuple[int, ...]) -> list[str]:
    if not sys.executable:
        raise WorkerError("worker processes need the path of the Python interpreter, but sys.executable is empty")
    return [sys.executable, "-c", _BOOTSTRAP.format([str(path) for path in sys.path], *fds)]


def how_it_ended(status: int) -> str:
    """Returns what an exit status says, as the end of a sentence."""
    if status < 0:
        return f"was killed by signal {-status} ({signal.Signals(-status).name})"
    return f"exited with status {status}"


def end_all(workers: "list[WorkerProcess]", shared: "dict[int, Shared]") -> None:
    """Ends the processes: those that wait for work leave by themselves, the others are killed. Ctrl-C waits for that."""
    interrupt: BaseException | None = None
    while workers or shared:
        try:
            _end(workers, shared)
        except KeyboardInterrupt as raised:
            interrupt = raised
    if interrupt is not None:
        raise interrupt


def _end(workers: "list[WorkerProcess]", shared: "dict[int, Shared]") -> None:
    for worker in workers:
        worker.channel.close()
        if not worker.ready:  # it is still starting: nothing of it is worth waiting for
            worker.process.kill()
    deadline = time.monotonic() + _EXIT_SECONDS
    for worker in workers:
        with contextlib.suppress(subprocess.TimeoutExpired):
            worker.process.wait(max(0.0, deadline - time.monotonic()))
    while workers:
        worker = workers[-1]
        worker.process.kill()
        worker.process.wait()
        worker.release()
        del workers[-1]
    while shared:
        shared.popitem()[1].close()
