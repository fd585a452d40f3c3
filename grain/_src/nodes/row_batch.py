"""A batch that is filled row by row: large arrays are copied as they come, while they are in the cache, and let go."""

from typing import Any

import numpy as np

from grain._src import trees
from grain._src.trees import Allocate

Array = np.ndarray[Any, Any]

LARGE_BYTES = 32 << 10  # of one array; many small ones are quicker stacked at once
_MOST_BYTES = 1 << 28  # of a batch: a larger one may never become full


class RowBatch:
    """Elements that are arrays, or dicts with arrays, of which at least one is large.

    Made by `begin`. What the first element is like, the others have to be; `add` says no to one that is not, and then
    `elements` gives those before it back.
    """

    def __init__(self, keys: tuple[Any, ...] | None, arrays: dict[Any, Array]) -> None:
        self._keys = keys  # of the dicts; None if the elements are arrays
        self._arrays = arrays  # the large ones by key, a row for each element
        self._small: list[dict[Any, Any]] = []  # what else the elements hold
        self.count = 0

    @classmethod
    def begin(cls, first: Any, count: int, allocate: Allocate | None) -> "RowBatch | None":
        """Returns an empty batch of up to `count` elements like `first`; None if that has no large arrays."""
        keys = tuple(first) if type(first) is dict else None
        parts = first if keys is not None else {None: first}
        large = {key: part for key, part in parts.items() if _is_large(part)}
        if not large or count * sum(part.nbytes for part in large.values()) > _MOST_BYTES:
            return None
        make = allocate or np.empty
        return cls(keys, {key: make((count, *part.shape), part.dtype) for key, part in large.items()})

    def add(self, element: Any) -> bool:
        """Copies the arrays of an element; says no, and changes nothing, if it is not like the first."""
        if self._keys is not None and (type(element) is not dict or tuple(element) != self._keys):
            return False
        parts = element if self._keys is not None else {None: element}
        for key, rows in self._arrays.items():
            part = parts[key]
            if type(part) is not np.ndarray or part.dtype != rows.dtype or part.shape != rows.shape[1:]:
                return False
        for key, rows in self._arrays.items():
            trees.copy_into(rows[self.count, ...], parts[key])
        self._small.append({key: part for key, part in parts.items() if key not in self._arrays})
        self.count += 1
        return True

    def elements(self) -> list[Any]:
        """Returns the elements that were added."""
        if self._keys is None:
            return list(self._arrays[None][: self.count])
        return [
            {key: self._arrays[key][row] if key in self._arrays else small[key] for key in self._keys}
            for row, small in enumerate(self._small)
        ]

    def finish(self, allocate: Allocate | None) -> Any:
        """Returns the batch of the elements that were added."""
        stacked = {
            key: rows if self.count == len(rows) else rows[: self.count].copy() for key, rows in self._arrays.items()
        }
        if self._keys is None:
            return stacked[None]
        small = trees.stack(self._small, allocate) if len(stacked) < len(self._keys) else {}
        return {key: stacked[key] if key in stacked else small[key] for key in self._keys}


def _is_large(part: Any) -> bool:
    return type(part) is np.ndarray and part.nbytes >= LARGE_BYTES and part.dtype.isnative and not part.dtype.hasobject
