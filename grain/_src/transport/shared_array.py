"""Arrays in named shared memory that other processes can open."""

import dataclasses
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import resource_tracker, shared_memory
from threading import BoundedSemaphore
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt


@dataclasses.dataclass(frozen=True, slots=True)
class SharedMemoryArrayMetadata:
    """What another process needs to open an array: the name of its memory, its shape and its dtype."""

    name: str
    shape: Iterable[int]
    dtype: npt.DTypeLike

    def close_and_unlink_shm(self) -> None:
        """Frees the memory behind the array."""
        memory = shared_memory.SharedMemory(name=self.name)
        memory.close()
        memory.unlink()


class SharedMemoryArray(np.ndarray[Any, Any]):
    """A NumPy array in named shared memory, for moving data between processes by hand.

    >>> array = SharedMemoryArray((2, 3), np.int32)
    >>> array[:] = 7
    >>> int(SharedMemoryArray.from_metadata(array.metadata).sum())
    42
    >>> array.unlink_on_del()
    """

    shm: shared_memory.SharedMemory | None
    _unlinks: bool
    _closing: ClassVar[ThreadPoolExecutor | None] = None
    _room: ClassVar[BoundedSemaphore] = BoundedSemaphore(1)

    def __new__(cls, shape: Iterable[int], dtype: npt.DTypeLike = float) -> Self:
        shape, kind = tuple(shape), np.dtype(dtype)
        if kind.hasobject:
            raise ValueError(f"dtype must not hold Python objects, got {kind}")
        size = max(1, int(np.prod(shape, dtype=np.int64)) * kind.itemsize)
        return cls.from_shared_memory(shared_memory.SharedMemory(create=True, size=size), shape, kind)

    def __array_finalize__(self, other: Any) -> None:
        self.shm = getattr(other, "shm", None)
        self._unlinks = False  # a view does not own the memory

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        plain = np.asarray(array)
        return plain[()] if return_scalar else plain

    @classmethod
    def from_shared_memory(cls, shm: shared_memory.SharedMemory, shape: Any, dtype: npt.DTypeLike) -> Self:
        """Returns an array over memory that is open already."""
        array = super().__new__(cls, shape, dtype, buffer=shm.buf)
        array.shm = shm
        return array

    @classmethod
    def from_metadata(cls, metadata: SharedMemoryArrayMetadata) -> Self:
        """Opens the array that `metadata` describes."""
        memory = shared_memory.SharedMemory(name=metadata.name)
        # Opening registers the memory as if it were ours; who created it is who frees it.
        resource_tracker.unregister(memory._name, "shared_memory")  # type: ignore[attr-defined]
        return cls.from_shared_memory(memory, tuple(metadata.shape), metadata.dtype)

    @property
    def metadata(self) -> SharedMemoryArrayMetadata:
        """What another process needs to open this array."""
        if self.shm is None:
            raise ValueError("this array does not live in shared memory")
        return SharedMemoryArrayMetadata(self.shm.name, self.shape, self.dtype)

    def unlink_on_del(self) -> None:
        """Frees the memory when this array is collected."""
        self._unlinks = True

    @classmethod
    def enable_async_del(cls, num_threads: int = 1, max_outstanding_requests: int = 50) -> None:
        """Lets threads close the memory of collected arrays."""
        if cls._closing is None:
            cls._closing = ThreadPoolExecutor(num_threads, thread_name_prefix="grain-close")
            cls._room = BoundedSemaphore(max_outstanding_requests)

    @classmethod
    def close_shm_async(cls, shm: shared_memory.SharedMemory, unlink: bool) -> None:
        """Closes `shm` in a thread if `enable_async_del` was called, else at once."""
        if cls._closing is None:
            _close(shm, unlink)
            return
        cls._room.acquire()
        try:
            cls._closing.submit(_close, shm, unlink).add_done_callback(lambda _: cls._room.release())
        except RuntimeError:  # the interpreter is ending, and its threads with it
            cls._room.release()
            _close(shm, unlink)

    def __del__(self) -> None:
        if getattr(self, "_unlinks", False) and self.shm is not None:
            self._unlinks = False
            shm, self.shm = self.shm, None
            type(self).close_shm_async(shm, unlink=True)


def _close(shm: shared_memory.SharedMemory, unlink: bool) -> None:
    if unlink:
        shm.unlink()
    try:
        shm.close()
    except BufferError:
        # A view still reads it; the mapping goes when the view does.
        shm._mmap = None  # type: ignore[attr-defined]
        shm._buf = None  # type: ignore[attr-defined]
