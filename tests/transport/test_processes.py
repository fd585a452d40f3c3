"""Both ends in processes of their own: what stays when they end, however they end."""

import gc
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from grain._src.transport.channel import ChannelClosed, channel_pair
from grain._src.transport.codec import decode
from grain._src.transport.failure import decode_error
from grain._src.transport.lease import Leases
from grain._src.transport.share import dump_shared

ROOT = pathlib.Path(__file__).parents[2]

WORKER = """
import socket, sys
import numpy as np
from grain._src.transport.arena import Arena
from grain._src.transport.channel import Channel, ChannelClosed
from grain._src.transport.codec import encode
from grain._src.transport.failure import encode_error
from grain._src.transport.share import load_shared

channel = Channel(socket.socket(fileno=int(sys.argv[1])))
frame = channel.recv()
source = load_shared(frame.body, frame.fds)
budget, backing = frame.message
arena = Arena(budget, backing=backing)
try:
    while True:
        number, released = channel.recv().message
        arena.free(released)
        try:
            batch = arena.empty(source.shape, source.dtype)
            np.multiply(source, number, out=batch)
            if number < 0:
                raise ValueError(number)
            box = [{"number": number, "batch": batch, "flat": batch.reshape(-1)[:10]}]
            del batch
            encoded = encode(box, arena)
            channel.send((number, encoded.head), encoded.body, encoded.fds)
        except ValueError as error:
            channel.send((number, None), encode_error(error))
except ChannelClosed:
    pass
"""


class Worker:
    """A worker process that multiplies a shared array, and what the training process keeps of it."""

    def __init__(self, source: Any, backing: str = "memfd", budget: int = 64 << 20) -> None:
        self.channel, theirs = channel_pair()
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        theirs.close()
        self.leases = Leases()
        shared = dump_shared(source)
        self.channel.send((budget, backing), shared.payload, shared.fds)
        self.channel.drain(60)
        shared.close()

    def ask(self, number: int) -> Any:
        self.channel.send((number, self.leases.take_released()))
        frame = self.channel.recv(60)
        if frame.message[1] is None:
            raise decode_error(frame.body)
        self.leases.adopt(frame.message[1], frame.fds)
        return decode(frame.message[1], frame.body, self.leases)

    def close(self) -> None:
        self.channel.close()
        self.leases.close()
        self.process.wait(60)


@pytest.fixture
def start() -> Any:
    workers: list[Worker] = []

    def start_one(*args: Any) -> Worker:
        workers.append(Worker(*args))
        return workers[-1]

    yield start_one
    for worker in workers:
        worker.close()


def shared_mappings() -> list[str]:
    """Mappings of segments of ours in this process."""
    if not os.path.exists("/proc/self/maps"):
        pytest.skip("needs /proc")
    with open("/proc/self/maps") as maps:
        return [line for line in maps if "grain" in line]


def descriptors() -> set[str]:
    return set(os.listdir("/dev/fd"))


def leftovers() -> list[str]:
    return [name for name in os.listdir("/dev/shm") if name.startswith("grain")] if os.path.isdir("/dev/shm") else []


@pytest.mark.parametrize("backing", ["memfd", "file"])
def test_batches_come_from_another_process(backing: str, start: Callable[..., Worker]) -> None:
    source = np.arange(300_000, dtype="f4").reshape(300, 1000)
    worker = start(source, backing)
    kept = [worker.ask(number) for number in range(10)]
    for _ in range(50):
        worker.ask(3)
    for number, got in enumerate(kept):
        assert got["number"] == number
        assert (got["batch"] == source * number).all()
        assert (got["flat"] == source.ravel()[:10] * number).all()
        got["batch"] += 1


@pytest.mark.parametrize("budget", [0, 1_000_000])
def test_a_user_who_keeps_everything_gets_copies_and_no_deadlock(budget: int, start: Callable[..., Worker]) -> None:
    source = np.arange(100_000, dtype="f4")
    worker = start(source, "memfd", budget)
    for number in range(20):  # more than the sockets hold, in both directions, before anything is read
        worker.channel.send((number, []), b"x" * 300_000)
    kept = []
    for number in range(20):
        frame = worker.channel.recv(60)
        worker.leases.adopt(frame.message[1], frame.fds)
        kept.append(decode(frame.message[1], frame.body, worker.leases)["batch"])
    for number, batch in enumerate(kept):
        assert (batch == source * number).all()
        batch += 1


def test_an_error_of_a_worker_is_raised_here(start: Callable[..., Worker]) -> None:
    worker = start(np.arange(10))
    with pytest.raises(ValueError, match="-3") as caught:
        worker.ask(-3)
    assert "Raised in a worker process" in caught.value.__notes__[0]
    assert worker.ask(2)["batch"].tolist() == list(range(0, 20, 2))


@pytest.mark.parametrize("backing", ["memfd", "file"])
def test_a_killed_worker_is_noticed_and_leaves_only_what_is_looked_at(
    backing: str, start: Callable[..., Worker]
) -> None:
    before = len(shared_mappings())
    worker = start(np.ones(100_000), backing)
    kept = worker.ask(7)
    os.kill(worker.process.pid, signal.SIGKILL)
    with pytest.raises(ChannelClosed):
        while True:
            worker.ask(8)
    worker.close()
    assert (kept["batch"] == 7).all()
    assert len(shared_mappings()) == before + 1
    assert leftovers() == []
    del kept
    gc.collect()
    assert len(shared_mappings()) == before


def test_a_worker_ends_when_the_training_process_goes(start: Callable[..., Worker]) -> None:
    worker = start(np.ones(100_000))
    worker.ask(1)
    worker.channel.close()
    assert worker.process.wait(60) == 0


def test_many_cycles_leave_no_descriptor_and_no_mapping(open_wire: Callable[..., Any]) -> None:
    gc.collect()
    before = descriptors(), shared_mappings()
    for number in range(200):
        wire = open_wire(backing="memfd" if number % 2 else "file")
        array = wire.arena.empty((100_000,), "f4")
        array[:] = number
        box = [[array, np.ones(50_000)]]
        del array
        got = wire.carry(box)
        assert got[0][5] == number
        # A message that nobody receives, with a descriptor in it:
        wire.worker.send("lost", b"", (0,))
        wire.close()
        del got
    assert (descriptors(), shared_mappings()) == before
    assert leftovers() == []


def test_a_large_shared_source_is_one_copy(start: Callable[..., Worker]) -> None:
    workers = [start(np.arange(1_000_000)) for _ in range(2)]
    assert [worker.ask(2)["batch"][-1] for worker in workers] == [1_999_998] * 2
    for worker in workers:
        maps = pathlib.Path(f"/proc/{worker.process.pid}/smaps")
        if maps.exists():
            private = [
                block for block in maps.read_text().split("VmFlags") if "memfd:grain" in block and "rw-p" in block
            ]
            assert len(private) == 1
            assert "Anonymous:             0 kB" in private[0]  # no page was copied


EXIT = """
import numpy as np
from grain._src.transport.arena import Arena
from grain._src.transport.codec import decode, encode
from grain._src.transport.lease import Leases
import os
arena, leases = Arena(64 << 20), Leases()
box = [[arena.empty((100_000,), "f4"), np.ones(100_000)]]
encoded = encode(box, arena)
leases.adopt(encoded.head, tuple(os.dup(fd) for fd in encoded.fds))
kept = decode(encoded.head, encoded.body, leases)
kept.append(kept)
"""


def test_interpreter_exit_with_arrays_alive_is_silent() -> None:
    done = subprocess.run(
        [sys.executable, "-c", EXIT], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
