"""The worker's pool of shared memory: arrays are built in its slots and handed over without a copy.

A slot has one owner at a time. While an array in it lives in this process, the slot is *held*; once a message that
names it is made, the slot is *sent* and belongs to the receiver until the receiver gives its id back. It is free again
when it is neither. A slot never has both owners for long: what is still held when it is sent, the codec copies.
"""

import math
import mmap
import os
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from grain._src.transport.freespace import FreeSpace
from grain._src.transport.segment import Backing, create_descriptor, map_shared

# Below this size a copy through the message costs less than a slot, a lease and its return.
MIN_SLOT_BYTES = 8 << 10

_ALIGNMENT = 64  # a cache line; JAX on CPU takes 64-byte aligned memory as it is
_PAGE = 4096
_FIRST_SEGMENT_BYTES = 16 << 20
_SEGMENT_SHIFT = 48  # an address is (segment << 48) + offset, so that no two segments touch

SlotEntry = tuple[int, int, int, int]
"""A slot in a message: id, segment, offset and length in bytes."""


class Slot:
    """A piece of a segment: where it is and who owns it."""

    __slots__ = ("held", "id", "offset", "segment", "sent", "size")

    def __init__(self, slot_id: int, segment: int, offset: int, size: int) -> None:
        self.id = slot_id
        self.segment = segment
        self.offset = offset
        self.size = size
        self.held = False  # an array in it lives in this process
        self.sent = False  # the receiver owns it


class SlotArray(np.ndarray[Any, np.dtype[np.uint8]]):
    """The bytes of a slot. Every array in the slot is based on this one, so its end is the end of all of them."""

    # Views of this class start without a slot: only the root that `Arena.hold` made reports its end.
    slot: Slot | None = None
    dropped: deque[Slot]

    def __del__(self) -> None:
        # Only an append: this may run in any thread, at any point, also while the arena's lock is taken.
        if self.slot is not None:
            self.dropped.append(self.slot)


class Arena:
    """Slots of shared memory within a budget of bytes; safe to use from several threads."""

    def __init__(self, budget_bytes: int, *, backing: Backing | None = None) -> None:
        if budget_bytes < 0:
            raise ValueError(f"budget_bytes must not be negative, got {budget_bytes}")
        self._budget = budget_bytes
        self._backing = backing
        self._lock = threading.Lock()
        self._space = FreeSpace()
        self._segments: list[tuple[int, mmap.mmap]] = []  # descriptor and mapping
        self._slots: dict[int, Slot] = {}
        self._dropped: deque[Slot] = deque()
        self._next_id = 0
        self._announced = 0
        self._closed = False
        self.bytes_reserved = 0
        self.bytes_in_use = 0

    def empty(self, shape: int | Sequence[int], dtype: Any) -> np.ndarray[Any, Any]:
        """Like `np.empty`, in a slot where the array is large enough and the budget allows."""
        dtype = np.dtype(dtype)
        nbytes = (shape if isinstance(shape, int) else math.prod(shape)) * dtype.itemsize
        if nbytes < MIN_SLOT_BYTES or dtype.hasobject:
            return np.empty(shape, dtype)
        slot = self.allocate(nbytes)
        if slot is None:
            return np.empty(shape, dtype)
        return np.ndarray(shape, dtype, self.hold(slot, nbytes))

    def allocate(self, nbytes: int) -> Slot | None:
        """Takes a slot, 64-byte aligned, or returns None where the budget is spent."""
        grain = _ALIGNMENT if nbytes < 8 * _PAGE else _PAGE
        size = max(-(-nbytes // grain), 1) * grain
        with self._lock:
            if self._dropped:
                self._collect()
            address = self._space.take(size)
            if address is None:
                if not self._grow(size):
                    return None
                address = self._space.take(size)
                assert address is not None
            slot = Slot(self._next_id, address >> _SEGMENT_SHIFT, address & ((1 << _SEGMENT_SHIFT) - 1), size)
            self._slots[slot.id] = slot
            self._next_id += 1
            self.bytes_in_use += size
        return slot

    def hold(self, slot: Slot, nbytes: int) -> SlotArray:
        """The first bytes of a slot that nobody holds yet; it is free again when this array and its views are gone."""
        array = SlotArray(nbytes, np.uint8, self._segments[slot.segment][1], slot.offset)
        array.dropped = self._dropped
        slot.held = True
        array.slot = slot
        return array

    def peek(self, slot: Slot) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The bytes of a slot, without becoming a holder of it."""
        return np.ndarray(slot.size, np.uint8, self._segments[slot.segment][1], slot.offset)

    def free(self, slot_ids: Iterable[int]) -> None:
        """Takes back slots that the receiver has released."""
        with self._lock:
            if self._closed:
                return
            for slot_id in slot_ids:
                slot = self._slots[slot_id]
                slot.sent = False
                if not slot.held:
                    self._reclaim(slot)

    def root_of(self, array: np.ndarray[Any, Any]) -> SlotArray | None:
        """The bytes of the slot in which an array lives, if it lives in one of this arena."""
        base = array.base
        while isinstance(base, np.ndarray):
            if isinstance(base, SlotArray) and base.slot is not None:
                return base if base.dropped is self._dropped else None
            base = base.base
        return None

    def claim(self, slots: Iterable[Slot]) -> None:
        """Makes slots the receiver's; to be called while the arrays in them are held, before they are let go."""
        for slot in slots:
            slot.sent = True

    def still_held(self, slots: Iterable[Slot]) -> list[Slot]:
        """Those of the slots in which an array is alive in this process."""
        with self._lock:
            self._collect()
            return [slot for slot in slots if slot.held]

    def announce(self) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
        """Segments made since the last call, as (number, bytes), and their descriptors (which stay the arena's)."""
        if self._announced == len(self._segments):
            return (), ()
        with self._lock:
            news = range(self._announced, len(self._segments))
            self._announced = len(self._segments)
            return tuple((i, len(self._segments[i][1])) for i in news), tuple(self._segments[i][0] for i in news)

    def close(self) -> None:
        """Closes the descriptors; memory goes when the last array in it does. No slot is given out any more."""
        with self._lock:
            if not self._closed:
                self._closed = True
                for fd, _ in self._segments:
                    os.close(fd)
                self._segments.clear()
                self._space = FreeSpace()
                self._slots.clear()
                self._dropped.clear()

    def _collect(self) -> None:
        while self._dropped:
            slot = self._dropped.popleft()
            slot.held = False
            if not slot.sent:
                self._reclaim(slot)

    def _reclaim(self, slot: Slot) -> None:
        if self._slots.pop(slot.id, None) is not None:
            self._space.give((slot.segment << _SEGMENT_SHIFT) + slot.offset, slot.size)
            self.bytes_in_use -= slot.size

    def _grow(self, nbytes: int) -> bool:
        # Doubling keeps the segments few; they are sparse, so what is never written costs nothing.
        size = min(max(_FIRST_SEGMENT_BYTES, self.bytes_reserved, nbytes), self._budget - self.bytes_reserved)
        size -= size % _PAGE
        if self._closed or size < nbytes:
            return False
        try:
            fd = create_descriptor(size, self._backing)
        except OSError:
            return False
        try:
            mapping = map_shared(fd, size)
        except (OSError, ValueError, MemoryError):
            os.close(fd)
            return False
        self._space.give(len(self._segments) << _SEGMENT_SHIFT, size)
        self._segments.append((fd, mapping))
        self.bytes_reserved += size
        return True
