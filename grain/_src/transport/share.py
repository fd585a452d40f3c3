"""What all workers need, once in memory: a pickled object whose large buffers lie in one shared segment.

The segment is mapped copy-on-write: a worker that only reads shares the one copy, one that writes gets its own pages.
"""

import mmap
import os
import pickle
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from grain._src.transport.arrays import PROTOCOL, Array, address_of, flat_bytes, reducers
from grain._src.transport.segment import Backing, close_all, create_descriptor, map_private

_MIN_SHARED_BYTES = 1 << 20
_PAGE = 4096
Reducers: TypeAlias = dict[type, Callable[[Any], tuple[Any, ...]]]
_MAX_WRITE_BYTES = 1 << 30  # a single write stops below 2 GiB


class Shared(NamedTuple):
    """A pickled object: bytes to send to every worker, and the descriptor (or none) that goes with them."""

    payload: bytes
    fds: tuple[int, ...]

    def close(self) -> None:
        """Closes the descriptor; workers that were given it keep the memory."""
        close_all(self.fds)


def _reduce_memmap(array: Any) -> tuple[Any, ...]:
    """A file that is mapped already is mapped by the workers too, not copied; changes in private pages must be."""
    file = array.filename
    if file is None or array.mode == "c" or not array.size or not array.flags.c_contiguous or not os.path.isfile(file):
        return cast(tuple[Any, ...], array.__reduce_ex__(PROTOCOL))
    # `offset` is that of the array that was opened; this may be a part of it.
    mapped_from = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
    offset = mapped_from + address_of(array) - address_of(np.frombuffer(array._mmap, np.uint8))
    mode = "r" if array.mode == "r" else "r+"
    return np.memmap, (os.fspath(file), array.dtype, mode, offset, array.shape)


def dump_shared(obj: Any, reduce: Reducers | None = None, *, backing: Backing | None = None) -> Shared:
    """Pickles an object by cloudpickle, with its large buffers, and a large stream itself, in one shared segment.

    Args:
      obj: what all workers need.
      reduce: how to pickle the instances of some classes, in place of their own way.
      backing: the kind of shared memory; the best there is by default.
    """
    # Workers, who only load, and a training process that has yet to start them, do without these.
    from grain._src.transport.cloud import CloudPickler
    from grain._src.transport.unpicklable import explain_unpicklable

    buffers: list[Any] = []  # memory to share, in the order of the stream

    def place(array: Array) -> tuple[Any, ...]:
        flat = flat_bytes(array if array.flags.forc else array.copy())
        if not array.flags.writeable:
            flat.flags.writeable = False
        layout = (0, None, "F") if array.flags.fnc else ()
        return pickle.PickleBuffer(flat.data), *layout

    def stays_in_stream(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < _MIN_SHARED_BYTES:
            return True
        buffers.append(raw)
        return False

    file = BytesIO()
    table = {**reducers(place, _MIN_SHARED_BYTES), np.memmap: _reduce_memmap, **(reduce or {})}
    try:
        CloudPickler(file, table, stays_in_stream).dump(obj)
    except Exception as error:
        raise pickle.PicklingError(explain_unpicklable(obj)) from error
    stream = file.getbuffer()
    in_segment = len(stream) >= _MIN_SHARED_BYTES
    if in_segment:
        buffers.append(stream)
    offsets, total = [], 0
    for buffer in buffers:
        offsets.append((total, len(buffer)))
        total += -(-len(buffer) // _PAGE) * _PAGE
    payload = pickle.dumps((b"" if in_segment else bytes(stream), total, offsets), PROTOCOL)
    if not total:
        return Shared(payload, ())
    fd = create_descriptor(total, backing)
    try:
        for (offset, _), buffer in zip(offsets, buffers, strict=True):
            _write_at(fd, buffer, offset)
    except BaseException:
        os.close(fd)
        raise
    return Shared(payload, (fd,))


def load_shared(payload: bytes | memoryview, fds: Sequence[int]) -> Any:
    """The object, its large arrays in the shared segment; closes the descriptor."""
    try:
        stream, total, offsets = pickle.loads(payload)
        if not total:
            return pickle.loads(stream)
        memory = np.frombuffer(map_private(fds[0], total), np.uint8)
    finally:
        close_all(tuple(fds))
    buffers: list[Any] = [memory[offset : offset + length] for offset, length in offsets]
    return pickle.loads(stream or buffers.pop(), buffers=buffers)


def _write_at(fd: int, data: memoryview, offset: int) -> None:
    done = 0
    while done < len(data):
        done += os.pwrite(fd, data[done : done + _MAX_WRITE_BYTES], offset + done)
