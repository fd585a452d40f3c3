"""Both ends of the transport in one process, as a worker and a training process would use them."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from grain._src.transport.arena import Arena
from grain._src.transport.channel import Channel, channel_pair
from grain._src.transport.codec import decode, encode
from grain._src.transport.lease import Leases


class Wire:
    """A worker's end (arena, channel) and the training process's end (leases, channel)."""

    def __init__(self, budget_bytes: int = 256 << 20, **options: Any) -> None:
        self.arena = Arena(budget_bytes, **options)
        self.leases = Leases()
        self.parent, other = channel_pair()
        self.worker = Channel(other)
        self.head: Any = None

    def carry(self, box: list[Any]) -> Any:
        """Encodes the one item of the box, sends it, and decodes it at the other end."""
        encoded = encode(box, self.arena)
        self.worker.send(encoded.head, encoded.body, encoded.fds)
        frame = None
        while frame is None:
            frame = next(iter(self.parent.receive_ready()), None)
            self.worker.flush()
        self.head = frame.message
        self.leases.adopt(frame.message, frame.fds)
        return decode(frame.message, frame.body, self.leases)

    @property
    def slots_sent(self) -> int:
        """How many buffers of the last message travelled in slots."""
        return sum(entry[0] >= 0 for entry in self.head[1])

    def give_back(self) -> list[int]:
        """Returns to the worker what the training process has let go."""
        released = self.leases.take_released()
        self.arena.free(released)
        return released

    def close(self) -> None:
        self.arena.close()
        self.leases.close()
        self.parent.close()
        self.worker.close()


@pytest.fixture
def open_wire() -> Iterator[Callable[..., Wire]]:
    wires: list[Wire] = []

    def open_one(*args: Any, **options: Any) -> Wire:
        wires.append(Wire(*args, **options))
        return wires[-1]

    yield open_one
    for wire in wires:
        wire.close()


@pytest.fixture
def wire(open_wire: Callable[..., Wire]) -> Wire:
    return open_wire()
