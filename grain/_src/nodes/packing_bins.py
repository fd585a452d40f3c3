"""Which row of a group of rows a sequence goes to: first fit and best fit."""

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from grain._src.nodes.packing_features import Feature

_CLOSED = -1


class Bins:
    """The free space in each of `count` rows.

    Args:
      features: their lengths and alignments.
      count: how many rows.
      most: how many sequences a row may take; None for any number.
      best: whether to choose the fitting row with the least space left instead of the first one.
    """

    def __init__(self, features: Sequence[Feature], count: int, most: int | None, best: bool) -> None:
        self._alignments = [feature.alignment for feature in features]
        self._aligned = any(alignment > 1 for alignment in self._alignments)
        self._free = np.empty((len(features), count), np.int64)
        self._free[:] = np.array([[feature.length] for feature in features])
        self._rows_free = list(self._free)  # a view a feature: what is compared
        self._left = self._free.sum(axis=0) if best else None  # over all features, also of rows that are closed
        # One feature, first fit: among the most that any row so far has free, which only grows, a search finds the row.
        self.plain = len(features) == 1 and not self._aligned and not best
        self._room = [features[0].length] * count if self.plain else []
        self._most_room = self._room.copy()
        self._most = most
        self._unused = np.ones(count, bool) if best and most is not None else None  # rows without a single token
        self.counts = [0] * count
        self._ends = [[0] * count for _ in features]  # where the next sequence begins, a list a feature
        self.placed_at: list[int] = []  # where the last sequences that were placed begin, if alignment makes gaps
        self.empty = count  # rows without a sequence

    def place(self, lengths: list[int]) -> int | None:
        """Returns the row that sequences of `lengths` go to, and makes the space theirs; None if they fit nowhere."""
        if self.plain:
            return self.place_all(lengths)[0] if self._most_room[-1] >= lengths[0] else None
        chosen = self._choose(lengths)
        if chosen is None:
            return None
        row = chosen
        if self._aligned:
            self.placed_at = [ends[row] for ends in self._ends]
            lengths = [-(-length // to) * to for length, to in zip(lengths, self._alignments, strict=True)]
        for number, length in enumerate(lengths):
            if self._aligned:
                self._ends[number][row] += length
            self._rows_free[number][row] -= length
            if self._left is not None:
                self._left[row] -= length
            if length and self._unused is not None:
                self._unused[row] = False
        if self._count(row):
            self._free[:, row] = _CLOSED
        return row

    def place_all(self, lengths: list[int]) -> list[int]:
        """The rows of several sequences of the one feature of plain rows, each of which fits."""
        room, most_room, counts, most = self._room, self._most_room, self.counts, self._most
        count = len(room)
        rows = []
        for length in lengths:
            row = bisect_left(most_room, length)
            rows.append(row)
            counts[row] = seen = counts[row] + 1
            if seen == 1:
                self.empty -= 1
            before = room[row]
            room[row] = left = before - length if seen != most else _CLOSED
            # What this row had was the most, up to the next row that has as much, or more.
            top = most_room[row - 1] if row else _CLOSED
            top = most_room[row] = left if left > top else top
            for at in range(row + 1, count):
                if most_room[at] > before or room[at] == before:
                    break
                if room[at] > top:
                    top = room[at]
                most_room[at] = top
        return rows

    def _count(self, row: int) -> bool:
        """Takes note of one more sequence in a row; says whether that was the last it takes."""
        seen = self.counts[row] = self.counts[row] + 1
        if seen == 1:
            self.empty -= 1
        return seen == self._most

    def _choose(self, lengths: list[int]) -> int | None:
        fits = self._rows_free[0] >= lengths[0]
        for free, length in zip(self._rows_free[1:], lengths[1:], strict=True):
            fits &= free >= length
        if self._left is None:
            row = int(fits.argmax())
            return row if fits[row] else None
        if self._unused is not None and not any(lengths):
            fits |= self._unused  # the reference counts a row without a token as empty
        candidates = fits.nonzero()[0]
        return int(candidates[self._left[candidates].argmin()]) if len(candidates) else None
