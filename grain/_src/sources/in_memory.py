"""Elements in shared memory: one copy for all the processes of a machine, found by name."""

import atexit
import contextlib
import operator
import os
import pickle
import struct
import sys
import threading
import weakref
from collections.abc import Sequence
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
from typing import Any, SupportsIndex

import numpy as np

from grain._src.errors import SourceError
from grain._src.sources.base import DataSource, IndexArray

_MAGIC = b"grainsm1"
_HEADER = struct.Struct("<8sq")
_attaching = threading.Lock()


class SharedMemoryDataSource(DataSource[Any]):
    """A sequence whose elements lie in shared memory; pickled copies and workers read the same memory.

    The memory is given back by `unlink()`; without it, when the creating process ends, or, for a source without a
    name, when the creator drops it.

    >>> source = SharedMemoryDataSource(["a", "b", "c"])
    >>> source[1]
    'b'
    >>> source.unlink()

    Args:
      elements: anything that can be pickled. Without it, the source called `name` is opened.
      name: what other processes can find this source by.
    """

    def __init__(self, elements: Sequence[Any] | None = None, *, name: str | None = None) -> None:
        if elements is None and name is None:
            raise ValueError("elements or the name of an existing source must be given, got neither")
        self._named = name is not None
        if elements is not None:
            self._memory = _create(elements, name)
            if self._named:
                atexit.register(_unlink, self._memory, os.getpid())
            else:
                weakref.finalize(self, _unlink, self._memory, os.getpid())
        else:
            self._memory = _attach(str(name))
        self._offsets = _offsets(self._memory)

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self._memory.name, self._named)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __repr__(self) -> str:
        # A name that was made up differs from run to run, so only a given one is shown.
        return f"SharedMemoryDataSource(len={len(self)}{f', name={self._memory.name!r}' if self._named else ''})"

    def __getitem__(self, index: SupportsIndex) -> Any:
        # As in a list, -1 is the last element: users of the reference's source have it so.
        key = operator.index(index) if hasattr(index, "__index__") else index
        return super().__getitem__(key + len(self) if isinstance(key, int) and -len(self) <= key < 0 else key)

    def _read_one(self, key: int) -> Any:
        begin, end = self._offsets[key : key + 2]
        return pickle.loads(_buffer(self._memory)[begin:end])

    def _read(self, keys: IndexArray) -> list[Any]:
        return [self._read_one(key) for key in keys.tolist()]

    @property
    def format(self) -> str:
        """What the elements are, in the code of the struct module as multiprocessing.ShareableList has it."""
        return "".join(map(_format, self))

    def unlink(self) -> None:
        """Gives the memory back once the last process that has it open lets go of it."""
        _unlink(self._memory, os.getpid())


def _create(elements: Sequence[Any], name: str | None) -> SharedMemory:
    pickled = [pickle.dumps(element, protocol=5) for element in elements]
    begin = _HEADER.size + 8 * (len(pickled) + 1)
    offsets = np.cumsum([begin, *map(len, pickled)], dtype=np.int64)
    memory = SharedMemory(name=name, create=True, size=int(offsets[-1]))
    _buffer(memory)[: int(offsets[-1])] = b"".join([_HEADER.pack(_MAGIC, len(pickled)), offsets.tobytes(), *pickled])
    return memory


def _attach(name: str) -> SharedMemory:
    if sys.version_info >= (3, 13):
        return SharedMemory(name=name, track=False)
    # Before 3.13 a process that only opens memory registers it, and removes it from everybody at its own end.
    with _attaching:
        register = resource_tracker.register
        resource_tracker.register = lambda *_: None
        try:
            return SharedMemory(name=name)
        finally:
            resource_tracker.register = register


def _reopen(name: str, named: bool) -> SharedMemoryDataSource:
    source = SharedMemoryDataSource(name=name)
    source._named = named
    return source


def _buffer(memory: SharedMemory) -> "memoryview[int]":
    assert memory.buf is not None, "shared memory is closed only when its last reference goes"
    return memory.buf


def _offsets(memory: SharedMemory) -> list[int]:
    buffer = _buffer(memory)
    if memory.size < _HEADER.size or bytes(buffer[:8]) != _MAGIC:
        raise SourceError(f"the shared memory {memory.name!r} does not hold a source")
    count = _HEADER.unpack_from(buffer)[1]
    table = bytes(buffer[_HEADER.size : _HEADER.size + 8 * (count + 1)])
    return np.frombuffer(table, np.int64).tolist()  # type: ignore[no-any-return]


def _unlink(memory: SharedMemory, creator: int) -> None:
    # A forked child inherits the promise to clean up, but not the right to.
    if os.getpid() == creator:
        with contextlib.suppress(FileNotFoundError):
            memory.unlink()


def _format(element: Any) -> str:
    if element is None:
        return "xxxxxx?x"
    if isinstance(element, bool):
        return "xxxxxxx?"
    if isinstance(element, int):
        return "q"
    if isinstance(element, float):
        return "d"
    data = element.encode() if isinstance(element, str) else element
    size = len(data) if isinstance(data, bytes) else len(pickle.dumps(element, protocol=5))
    return f"{8 * (size // 8 + 1)}s"


InMemoryDataSource = SharedMemoryDataSource
