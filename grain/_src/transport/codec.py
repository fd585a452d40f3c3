"""Elements to messages and back: pickle protocol 5, with large buffers in shared memory.

An encoded object is a small `head`, a `body` of bytes, and descriptors of new segments. The head is
`(segments, table, body_slot)`: the segments that are new to the receiver, one entry for each out-of-band buffer in the
order of the stream, and the slot that holds the stream where it is too long for the message. A buffer is a slot, or,
under the id -1, a range of the body.
"""

import pickle
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np

from grain._src.columns import Packed, pack
from grain._src.transport.arena import MIN_SLOT_BYTES, Arena, SlotArray, SlotEntry
from grain._src.transport.arrays import PROTOCOL, Array, address_of, flat_bytes, reducers
from grain._src.transport.lease import Lease, Leases
from grain._src.trees import copy_into

_IN_BODY = -1

# So many elements with small arrays go by columns: in half the time of array by array.
_MANY = 32

# A message longer than a socket's buffer would make the worker wait until the training process reads it.
_MAX_BODY_BYTES = 32 << 10

Body = bytes | memoryview
Head = tuple[tuple[tuple[int, int], ...], tuple[SlotEntry, ...], SlotEntry | None]


class Encoded(NamedTuple):
    """What to send: `channel.send((…, head), body, fds)`."""

    head: Head
    body: Body
    fds: tuple[int, ...]  # they belong to the arena


def encode(box: list[Any], arena: Arena | None = None) -> Encoded:
    """Encodes the one item of `box`, which it takes out.

    The caller gives the object away: an array of the arena that nobody holds afterwards is handed over as it is, one
    that somebody still holds (a cache in the user's function, a variable of the caller) is copied. What is encoded must
    be sent, in the order in which it was encoded. If the object cannot be pickled, this raises and the box stays full.
    """
    packing = _Packing(arena)
    body: Body = packing.dump(box)
    if arena is None:
        return Encoded(((), (), None), body, ())
    table, body = packing.hand_over(arena, body)
    body_slot = None
    if len(body) > _MAX_BODY_BYTES:
        slot = arena.allocate(len(body))
        if slot is not None:
            arena.claim((slot,))
            arena.peek(slot)[: len(body)] = np.frombuffer(body, np.uint8)
            body_slot = (slot.id, slot.segment, slot.offset, len(body))
            body = b""
    segments, fds = arena.announce()
    return Encoded((segments, table, body_slot), body, fds)


def decode(head: Head, body: Body, leases: Leases | None = None) -> Any:
    """The object again; its large arrays view the worker's memory. To be called once for a message, or never."""
    decoded = decode_packed(head, body, leases)
    return decoded.elements() if type(decoded) is Packed else decoded


def decode_packed(head: Head, body: Body, leases: Leases | None = None) -> Any:
    """The same, but elements that came by columns are left so."""
    _, table, body_slot = head
    if not table and body_slot is None:
        return pickle.loads(body)
    assert leases is not None
    stream: Any = body if body_slot is None else leases.lease(body_slot)
    by_id: dict[int, Lease] = {}
    buffers: list[Lease | bytearray] = []
    for entry in table:
        slot_id = entry[0]
        if slot_id == _IN_BODY:
            start, length = entry[2:]
            buffers.append(bytearray(memoryview(stream)[start : start + length]))
        else:
            if slot_id not in by_id:
                by_id[slot_id] = leases.lease(entry)
            buffers.append(by_id[slot_id])
    return pickle.loads(stream, buffers=buffers)


class _Packing:
    """One object on its way into a stream and slots."""

    def __init__(self, arena: Arena | None) -> None:
        self._arena = arena
        # Out-of-band buffers in the order of the stream, with the bytes in use. Held until the slots are claimed.
        self._buffers: list[tuple[SlotArray, int]] = []
        self._placed: tuple[Any, SlotArray] | None = None  # what the next buffer of the stream should be

    def dump(self, box: list[Any]) -> memoryview:
        """The stream of the one item of the box, which is emptied."""
        table = reducers(self._place, MIN_SLOT_BYTES)
        sent = pack(box[0], _MANY, MIN_SLOT_BYTES) or box[0]
        file = BytesIO()
        try:
            pickler = pickle.Pickler(file, PROTOCOL, buffer_callback=self._stays_in_stream)
            pickler.dispatch_table = table
            pickler.dump(sent)
        except Exception:
            # Local classes and functions: plain pickle knows things by name only.
            from grain._src.transport.cloud import CloudPickler

            self._buffers.clear()
            file = BytesIO()
            CloudPickler(file, table, self._stays_in_stream).dump(sent)
        box.clear()
        return file.getbuffer()

    def hand_over(self, arena: Arena, body: Body) -> tuple[tuple[SlotEntry, ...], Body]:
        """Lets go of the arrays: what nobody holds then is the receiver's, what is still held is copied."""
        used = [(root.slot, nbytes) for root, nbytes in self._buffers if root.slot is not None]
        slots = {slot.id: slot for slot, _ in used}
        arena.claim(slots.values())
        self._buffers.clear()
        entries = {slot.id: (slot.id, slot.segment, slot.offset) for slot in slots.values()}
        for kept in arena.still_held(slots.values()):
            copy = arena.allocate(kept.size)
            if copy is not None:
                arena.claim((copy,))
                arena.peek(copy)[:] = arena.peek(kept)
                entries[kept.id] = (copy.id, copy.segment, copy.offset)
            else:
                entries[kept.id] = (_IN_BODY, 0, len(body))
                body = b"".join((body, arena.peek(kept).data))
            arena.free((kept.id,))
        return tuple((*entries[slot.id], nbytes) for slot, nbytes in used), body

    def _place(self, array: Array) -> tuple[Any, ...] | None:
        arena = self._arena
        if arena is None:
            return None
        flags = array.flags
        root = arena.root_of(array)
        layout: tuple[Any, ...]
        nbytes = array.nbytes
        # A small part of a large slot would keep all of it from being used again.
        if root is not None and root.nbytes == nbytes and flags.c_contiguous:
            layout = ()  # it is all of the slot
        elif root is not None and root.nbytes <= 2 * nbytes + MIN_SLOT_BYTES:
            offset = address_of(array) - address_of(root)
            layout = (offset,) if flags.c_contiguous else (offset, array.strides)
        else:
            slot = arena.allocate(nbytes)
            if slot is None:
                return None
            root = arena.hold(slot, nbytes)
            if flags.forc:
                root[:] = flat_bytes(array)
            else:
                copy_into(np.ndarray(array.shape, array.dtype, root), array)
            layout = (0, None, "F") if flags.fnc else ()
        buffer: Any = root
        if not flags.writeable:
            buffer = root.view(np.ndarray)
            buffer.flags.writeable = False
        self._placed = buffer, root
        return pickle.PickleBuffer(buffer), *layout

    def _stays_in_stream(self, buffer: pickle.PickleBuffer) -> bool:
        arena, placed, self._placed = self._arena, self._placed, None
        if placed is not None and memoryview(buffer).obj is placed[0]:
            self._buffers.append((placed[1], placed[1].nbytes))
            return False
        raw = buffer.raw()
        if arena is None or raw.nbytes < MIN_SLOT_BYTES:
            return True
        slot = arena.allocate(raw.nbytes)
        if slot is None:
            return True
        root = arena.hold(slot, raw.nbytes)
        root[:] = np.frombuffer(raw, np.uint8)
        self._buffers.append((root, raw.nbytes))
        return False
