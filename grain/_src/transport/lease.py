"""The training process's side of the worker's shared memory: who still looks at which slot.

A slot that arrives becomes a `Lease`, and the arrays that the user gets are based on it. When the last of them is
collected the lease ends, and the id of its slot waits in `take_released` for the next message to the worker.
"""

import mmap
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from grain._src.transport.segment import close_all, map_shared

if TYPE_CHECKING:
    from grain._src.transport.arena import SlotEntry


class Lease(np.ndarray[Any, np.dtype[np.uint8]]):
    """The bytes of a slot that a worker sent. Every array in the slot is based on this one."""

    # Views of this class start without an id: only the root that `Leases.lease` made reports its end.
    slot_id: int | None = None
    released: deque[int]

    def __del__(self) -> None:
        # Only an append: this may run in any thread, at any point, also while the interpreter exits.
        if self.slot_id is not None:
            self.released.append(self.slot_id)


class Leases:
    """What is leased from one worker. Arrays outlive this object, the worker and its connection."""

    def __init__(self) -> None:
        self._segments: dict[int, mmap.mmap] = {}
        self._released: deque[int] = deque()

    def adopt(self, head: "tuple[Any, ...]", fds: tuple[int, ...]) -> None:
        """Maps the segments that a message announces; to be called as messages arrive. Closes the descriptors."""
        try:
            for (number, nbytes), fd in zip(head[0], fds, strict=True):
                self._segments[number] = map_shared(fd, nbytes)
        finally:
            close_all(fds)

    def lease(self, entry: "SlotEntry") -> Lease:
        """The bytes of a slot, writable and not copied."""
        slot_id, segment, offset, length = entry
        lease = Lease(length, np.uint8, self._segments[segment], offset)
        lease.released = self._released
        lease.slot_id = slot_id
        return lease

    def discard(self, head: "tuple[Any, ...]") -> None:
        """Gives back the slots of a message that is not going to be decoded."""
        _, table, body = head
        slot_ids = {entry[0] for entry in table if entry[0] >= 0}
        if body is not None:
            slot_ids.add(body[0])
        self._released.extend(slot_ids)

    def take_released(self) -> list[int]:
        """The ids of the slots that nobody looks at any more, each of them once."""
        waiting, released = self._released, []
        while waiting:  # finalizers may append meanwhile
            released.append(waiting.popleft())
        return released

    def close(self) -> None:
        """Forgets the worker; memory is unmapped when the last array in it is collected."""
        self._segments.clear()
        self._released.clear()
