"""Arrays in memory as a source: a NumPy array, or several of the same length by name."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from grain._src import trees
from grain._src.sources.base import DataSource, IndexArray, Indices, check_indices


class ArrayDataSource(DataSource[Any]):
    """The rows of an array, or of a dict of arrays of one length: element i is a copy of row i of each.

    >>> source = ArrayDataSource({"x": np.arange(6).reshape(3, 2), "y": np.array([0, 1, 0])})
    >>> source[1]
    {'x': array([2, 3]), 'y': np.int64(1)}
    """

    def __init__(self, arrays: npt.ArrayLike | Mapping[str, npt.ArrayLike]) -> None:
        self._names: tuple[str, ...] | None = tuple(arrays) if isinstance(arrays, Mapping) else None
        columns = arrays.values() if isinstance(arrays, Mapping) else [arrays]
        self._columns = [np.asarray(column) for column in columns]
        if not self._columns:
            raise ValueError("arrays must hold at least one array, got an empty mapping")
        shapes = dict(zip(self._names or ("arrays",), (column.shape for column in self._columns), strict=True))
        if any(not shape for shape in shapes.values()):
            raise ValueError(f"arrays must have at least one dimension, got shapes {shapes}")
        if len({shape[0] for shape in shapes.values()}) > 1:
            raise ValueError(f"arrays must all have the same length, got shapes {shapes}")

    def __len__(self) -> int:
        return len(self._columns[0])

    def __repr__(self) -> str:
        texts = [f"{column.dtype}{list(column.shape)}" for column in self._columns]
        if self._names is None:
            return f"ArrayDataSource({texts[0]})"
        return f"ArrayDataSource({{{', '.join(f'{n!r}: {t}' for n, t in zip(self._names, texts, strict=True))}}})"

    def _read_one(self, key: int) -> Any:
        # Copies: what a pipeline does to an element in place must not reach the next epoch.
        rows = [np.copy(row) if isinstance(row := column[key], np.ndarray) else row for column in self._columns]
        return rows[0] if self._names is None else dict(zip(self._names, rows, strict=True))

    def _read(self, keys: IndexArray) -> list[Any]:
        columns = [list(column[keys]) for column in self._columns]
        if self._names is None:
            return columns[0]
        names = self._names
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def gather(self, indices: Indices) -> Any:
        """Returns the rows at `indices` stacked: what batching them one by one gives, by fancy indexing."""
        keys = check_indices(indices, len(self), type(self).__name__)
        stacked = [trees.as_stacked(column[keys]) for column in self._columns]
        return stacked[0] if self._names is None else dict(zip(self._names, stacked, strict=True))
