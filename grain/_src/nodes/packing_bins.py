"""Which row of a group of rows a sequence goes to: first fit and best fit."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from grain._src.nodes.packing_features import Feature

_CLOSED = -1
_ENDLESS = 1 << 62


class Bins(Protocol):
    """The free space in the rows of a group."""

    placed_at: Sequence[int]  # where the last sequences that were placed begin, if alignment makes gaps

    @property
    def empty(self) -> int:
        """How many rows have no sequence."""

    def filled(self) -> list[int]:
        """The rows that have some."""

    def place(self, lengths: list[int]) -> int | None:
        """Returns the row that sequences of `lengths` go to, and makes the space theirs; None if they fit nowhere."""


def make_bins(features: Sequence[Feature], count: int, most: int | None, best: bool) -> Bins:
    """Returns `count` empty rows.

    Args:
      features: their lengths and alignments.
      count: how many rows.
      most: how many sequences a row may take; None for any number.
      best: whether to choose the fitting row with the least space left instead of the first one.
    """
    if len(features) == 1 and features[0].alignment == 1 and not best:
        return VectorBins(features[0].length, count, most)
    return FeatureBins(features, count, most, best)


class VectorBins:
    """First fit with one feature: rows are begun one after the other, each when no row before it has room."""

    placed_at: Sequence[int] = ()

    def __init__(self, length: int, count: int, most: int | None) -> None:
        self._count = count
        self._begun = 0
        self._room = [length] * count
        # The most that any row up to this one has free, which only grows: a search finds the first that has enough.
        self._most_room = [*self._room, _ENDLESS]
        self._most = most
        self._seen = [0] * count if most is not None else []

    @property
    def empty(self) -> int:
        return self._count - self._begun

    def filled(self) -> list[int]:
        return list(range(self._begun))

    def place(self, lengths: list[int]) -> int | None:
        return next(iter(self.place_all(lengths)), None)

    def place_all(self, lengths: Sequence[int]) -> list[int]:
        """Returns the rows of sequences, up to the first that fits nowhere."""
        room, most_room, most, seen = self._room, self._most_room, self._most, self._seen
        count = self._count
        rows: list[int] = []
        for length in lengths:
            row = bisect_left(most_room, length)
            if row == count:
                break
            rows.append(row)
            before = room[row]
            top = before - length
            if most is not None:
                seen[row] += 1
                if seen[row] == most:
                    top = _CLOSED
            room[row] = top
            # What this row had was the most, up to the next row that has as much, or more.
            if row and most_room[row - 1] > top:
                top = most_room[row - 1]
            most_room[row] = top
            row += 1
            while most_room[row] == before and room[row] != before:
                if room[row] > top:
                    top = room[row]
                most_room[row] = top
                row += 1
        self._begun = max(self._begun, max(rows, default=-1) + 1)
        return rows


class FeatureBins:
    """First fit or best fit with any features; see `make_bins`."""

    def __init__(self, features: Sequence[Feature], count: int, most: int | None, best: bool) -> None:
        self._alignments = [feature.alignment for feature in features]
        self._aligned = any(alignment > 1 for alignment in self._alignments)
        self._free = np.empty((len(features), count), np.int64)
        self._free[:] = np.array([[feature.length] for feature in features])
        self._rows_free = list(self._free)  # a view a feature: what is compared
        self._left = self._free.sum(axis=0) if best else None  # over all features, also of rows that are closed
        self._most = most
        self._unused = np.ones(count, bool) if best and most is not None else None  # rows without a single token
        self._counts = [0] * count
        self._ends = [[0] * count for _ in features]  # where the next sequence begins, a list a feature
        self.placed_at: Sequence[int] = ()

    @property
    def empty(self) -> int:
        return self._counts.count(0)

    def filled(self) -> list[int]:
        return [row for row, count in enumerate(self._counts) if count]

    def place(self, lengths: list[int]) -> int | None:
        row = self._choose(lengths)
        if row is None:
            return None
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
        self._counts[row] += 1
        if self._counts[row] == self._most:
            self._free[:, row] = _CLOSED
        return row

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
