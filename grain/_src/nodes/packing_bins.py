"""Which row of a group of rows a sequence goes to: first fit and best fit."""

import abc
from bisect import bisect_left, insort
from collections.abc import Sequence

import numpy as np

from grain._src.nodes.packing_features import Feature

_CLOSED = -1
_ENDLESS = 1 << 62


class Bins(abc.ABC):
    """The free space in the rows of a group."""

    placed_at: Sequence[int] = ()  # where the last sequences that were placed begin, if alignment makes gaps

    @property
    @abc.abstractmethod
    def empty(self) -> int:
        """How many rows have no sequence."""

    @abc.abstractmethod
    def filled(self) -> list[int]:
        """The rows that have some."""

    @abc.abstractmethod
    def place_all(self, lengths: Sequence[Sequence[int]]) -> list[int]:
        """Makes space in the rows for sequences, up to the first that fits nowhere, and returns which rows they go to.

        Args:
          lengths: for each feature, those of its sequences, none of them longer than a row.
        """

    def place(self, lengths: Sequence[int]) -> int | None:
        """Returns the row that sequences of `lengths`, one a feature, go to; None if they fit nowhere."""
        return next(iter(self.place_all([[length] for length in lengths])), None)


def make_bins(features: Sequence[Feature], count: int, most: int | None, best: bool) -> Bins:
    """Returns `count` empty rows.

    Args:
      features: their lengths and alignments.
      count: how many rows.
      most: how many sequences a row may take; None for any number.
      best: whether to choose the fitting row with the least space left instead of the first one.
    """
    lengths = [feature.length for feature in features]
    if any(feature.alignment > 1 for feature in features) or (best and most is not None):
        return _AnyBins(features, count, most, best)
    return _BestFitBins(lengths, count) if best else _FirstFitBins(lengths, count, most)


class _OrderedBins(Bins):
    """Rows that are begun one after the other, each when none of those before it has room."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._begun = 0

    @property
    def empty(self) -> int:
        return self._count - self._begun

    def filled(self) -> list[int]:
        return list(range(self._begun))

    def _begin(self, rows: list[int]) -> list[int]:
        self._begun = max(self._begun, max(rows, default=-1) + 1)
        return rows


class _Room:
    """The free space of one feature in each row."""

    __slots__ = ("free", "most")

    def __init__(self, length: int, count: int) -> None:
        self.free = [length] * count
        # The most that any row up to this one has free, which only grows: a search finds the first that has enough.
        self.most = [*self.free, _ENDLESS]

    def leave(self, row: int, left: int) -> None:
        """Leaves so much in a row."""
        free, most = self.free, self.most
        before, free[row] = free[row], left
        top = most[row - 1] if row else _CLOSED
        while most[row] == before > top:  # what this row had was the most, up to the next row that has as much, or more
            if free[row] > top:
                top = free[row]
            most[row] = top
            row += 1


class _FirstFitBins(_OrderedBins):
    """First fit."""

    def __init__(self, lengths: Sequence[int], count: int, most: int | None) -> None:
        super().__init__(count)
        self._rooms = [_Room(length, count) for length in lengths]
        self._most = most
        self._seen = [0] * count

    def place_all(self, lengths: Sequence[Sequence[int]]) -> list[int]:
        rows = self._place_vectors(lengths[0]) if len(lengths) == 1 else self._place_tuples(lengths)
        return self._begin(rows)

    def _place_vectors(self, lengths: Sequence[int]) -> list[int]:
        (room,) = self._rooms
        free, most_free, count, most = room.free, room.most, self._count, self._most
        rows: list[int] = []
        for length in lengths:
            row = bisect_left(most_free, length)
            if row == count:
                break
            rows.append(row)
            # As `room.leave` does it: a call would take longer than all of this.
            before = free[row]
            top = free[row] = before - length if most is None or self._is_open(row) else _CLOSED
            if row and most_free[row - 1] > top:
                top = most_free[row - 1]
            most_free[row] = top
            row += 1
            while most_free[row] == before and free[row] != before:
                if free[row] > top:
                    top = free[row]
                most_free[row] = top
                row += 1
        return rows

    def _place_tuples(self, lengths: Sequence[Sequence[int]]) -> list[int]:
        rooms, count, most = self._rooms, self._count, self._most
        frees, most_frees = [room.free for room in rooms], [room.most for room in rooms]
        rows: list[int] = []
        for own in zip(*lengths, strict=True):
            row = max(map(bisect_left, most_frees, own))
            while row < count:  # each feature has room in some row up to here, but perhaps not in the same
                for free, length in zip(frees, own, strict=True):
                    if free[row] < length:
                        break
                else:
                    break
                row += 1
            if row == count:
                break
            rows.append(row)
            stays = most is None or self._is_open(row)
            for room, length in zip(rooms, own, strict=True):
                room.leave(row, room.free[row] - length if stays else _CLOSED)
        return rows

    def _is_open(self, row: int) -> bool:
        """Counts a sequence, and says whether the row may take another."""
        self._seen[row] += 1
        return self._seen[row] != self._most


class _BestFitBins(_OrderedBins):
    """Best fit with any number of sequences in a row."""

    def __init__(self, lengths: Sequence[int], count: int) -> None:
        super().__init__(count)
        self._frees = [[length] * count for length in lengths]
        # The space left over all features, and the row, as one number; in order.
        self._keys = [sum(lengths) * count + row for row in range(count)]

    def place_all(self, lengths: Sequence[Sequence[int]]) -> list[int]:
        frees, keys, count = self._frees, self._keys, self._count
        rows: list[int] = []
        for own in zip(*lengths, strict=True):
            needed = sum(own) * count
            for at in range(bisect_left(keys, needed), count):
                row = keys[at] % count
                for free, length in zip(frees, own, strict=True):
                    if free[row] < length:
                        break
                else:
                    break
            else:
                break
            rows.append(row)
            insort(keys, keys.pop(at) - needed)
            for free, length in zip(frees, own, strict=True):
                free[row] -= length
        return self._begin(rows)


class _AnyBins(Bins):
    """First fit or best fit, with whatever else is asked for; see `make_bins`."""

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

    @property
    def empty(self) -> int:
        return self._counts.count(0)

    def filled(self) -> list[int]:
        return [row for row, count in enumerate(self._counts) if count]

    def place_all(self, lengths: Sequence[Sequence[int]]) -> list[int]:
        rows: list[int] = []
        for own in zip(*lengths, strict=True):
            row = self.place(own)
            if row is None:
                break
            rows.append(row)
        return rows

    def place(self, lengths: Sequence[int]) -> int | None:
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

    def _choose(self, lengths: Sequence[int]) -> int | None:
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
