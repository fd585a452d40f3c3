"""What the sources of this library share: checked indices, batched reads, iteration."""

import abc
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, SupportsIndex, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")
IndexArray: TypeAlias = npt.NDArray[np.int64]
Indices: TypeAlias = Sequence[SupportsIndex] | npt.NDArray[np.integer[Any]]


class DataSource(abc.ABC, Generic[T]):
    """A source: subclasses say how many elements there are and how checked keys are read."""

    @abc.abstractmethod
    def __len__(self) -> int:
        """Returns the number of elements."""

    @abc.abstractmethod
    def _read(self, keys: IndexArray) -> list[T]:
        """Returns the elements at `keys`, all of them within range."""

    @abc.abstractmethod
    def _read_one(self, key: int) -> T:
        """Returns the element at `key`, within range."""

    @abc.abstractmethod
    def __repr__(self) -> str:
        """Returns the same text in every process, for checkpoints name their source by it."""

    def __getitem__(self, index: SupportsIndex) -> T:
        return self._read_one(check_index(index, len(self), type(self).__name__))

    def __getitems__(self, indices: Indices) -> list[T]:
        """Returns the elements at `indices`, the same as one by one but faster."""
        keys = check_indices(indices, len(self), type(self).__name__)
        return self._read(keys) if len(keys) else []

    def __iter__(self) -> Iterator[T]:
        return map(self._read_one, range(len(self)))


def check_index(index: SupportsIndex, length: int, source: str) -> int:
    """Returns `index` as an int if it is an integer from 0 to length - 1."""
    try:
        key = operator.index(index)
    except TypeError:
        raise TypeError(f"an index of {source} must be an integer, got {index!r:.100}") from None
    if not 0 <= key < length:
        raise IndexError(f"index {key} is out of range for {source} with {length} elements")
    return key


def check_indices(indices: Indices, length: int, source: str) -> IndexArray:
    """Returns `indices` as an int64 array if all are integers from 0 to length - 1."""
    if not isinstance(indices, np.ndarray):
        indices = np.asarray(indices if isinstance(indices, (list, tuple)) else list(indices))
    if not indices.size:
        return np.empty(0, np.int64)
    if indices.ndim != 1 or indices.dtype.kind not in "iub":
        raise TypeError(
            f"indices of {source} must be one flat sequence of integers, "
            f"got dtype {indices.dtype} and shape {indices.shape}"
        )
    if indices.min() < 0 or indices.max() >= length:
        wrong = indices[(indices < 0) | (indices >= length)][0]
        raise IndexError(f"index {wrong} is out of range for {source} with {length} elements")
    return indices.astype(np.int64, copy=False)


def checked_records(records: Iterable[Any]) -> Iterator[bytes]:
    """Yields the records to write, if they are bytes."""
    if not isinstance(records, Iterable):
        raise TypeError(f"records must be an iterable of bytes, got {records!r:.200}")
    for index, record in enumerate(records):
        if not isinstance(record, (bytes, bytearray, memoryview)):
            raise TypeError(f"records must be bytes, got {type(record).__name__} for record {index}")
        yield bytes(record)
