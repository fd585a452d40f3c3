"""Packed rows as arrays: values, segment ids and positions."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from grain._src.nodes.packing_features import Array, Feature

# From so many sequences on it is faster to write all of a row at once than one after the other.
_MANY = 16


@functools.lru_cache(maxsize=8)
def _counting(length: int) -> Array:
    numbers = np.arange(length, dtype=np.int32)
    numbers.flags.writeable = False
    return numbers


class Like:
    """The dtype of a packed feature and the shape of one of its tokens."""

    __slots__ = ("dtype", "shape")

    def __init__(self, array: Array) -> None:
        self.dtype = array.dtype
        self.shape = array.shape[1:]

    def check(self, feature: Feature, array: Array) -> None:
        """Raises if sequences as `array` cannot be packed with those before it."""
        if array.shape[1:] != self.shape:
            raise ValueError(
                f"feature {feature.title} has tokens of shape {array.shape[1:]}, those packed before it have shape {self.shape}"
            )


def pack_values(
    feature: Feature, like: Like, arrays: Sequence[Array], lengths: Sequence[int], starts: Sequence[int] | None = None
) -> Array:
    """Returns a row with the sequences at `starts`, or one after the other."""
    row = np.empty((feature.length, *like.shape), like.dtype)
    padding = np.zeros((), like.dtype) if feature.padding is None else feature.padding
    if starts is None:
        end = sum(lengths)
        if arrays:
            try:
                np.concatenate(arrays, out=row[:end], casting="unsafe")
            except ValueError:
                for array in arrays:
                    like.check(feature, array)
                raise
        if end < feature.length:
            row[end:] = padding
        return row
    row[:] = padding
    for start, own, array in zip(starts, lengths, arrays, strict=True):
        row[start : start + own] = array
    return row


def pack_marks(length: int, lengths: Sequence[int], starts: Sequence[int] | None = None) -> tuple[Array, Array]:
    """Returns the segment ids (from 1, 0 in the padding) and the positions within each sequence."""
    counting = _counting(max(length, len(lengths)) + 1)
    if starts is None and len(lengths) > _MANY:
        segments, positions = np.empty(length, np.int32), np.empty(length, np.int32)
        end = sum(lengths)
        segments[:end] = counting[1 : len(lengths) + 1].repeat(lengths)
        np.concatenate([counting[:own] for own in lengths], out=positions[:end])
        segments[end:] = positions[end:] = 0
        return segments, positions
    segments, positions = np.zeros(length, np.int32), np.zeros(length, np.int32)
    end = 0
    for number, own in enumerate(lengths):
        start = end if starts is None else starts[number]
        end = start + own
        segments[start:end] = number + 1
        positions[start:end] = counting[:own]
    return segments, positions


class RowWriter:
    """Makes the elements that packing gives: flat dicts but for nested meta features."""

    def __init__(self, features: Sequence[Feature], extras: Sequence[str] = ()) -> None:
        self._features = features
        self._extras = extras
        self._marks = [(f"{feature.path[0]}_segment_ids", f"{feature.path[0]}_positions") for feature in features]

    def write(
        self,
        likes: Sequence[Like],
        arrays: Sequence[Sequence[Array]],
        starts: Sequence[Sequence[int]] | None = None,
        extras: Sequence[list[Any]] = (),
    ) -> dict[str, Any]:
        """Returns a packed row.

        Args:
          likes: dtype and token shape of each feature.
          arrays: the sequences of each feature.
          starts: where they begin; one after the other if None.
          extras: the values of each unpacked meta feature.
        """
        out: dict[str, Any] = dict(zip(self._extras, extras, strict=True))
        marks: tuple[Array, Array] | None = None
        made_of: tuple[int, list[int]] | None = None  # what the last marks are of
        for number, feature in enumerate(self._features):
            own_starts = None if starts is None else starts[number]
            lengths = list(map(len, arrays[number]))
            put(out, feature.path, pack_values(feature, likes[number], arrays[number], lengths, own_starts))
            if feature.meta:
                continue
            if marks is not None and starts is None and made_of == (feature.length, lengths):
                marks = (marks[0].copy(), marks[1].copy())
            else:
                marks = pack_marks(feature.length, lengths, own_starts)
                made_of = (feature.length, lengths)
            out[self._marks[number][0]], out[self._marks[number][1]] = marks
        return out


def put(out: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    """Sets out[path[0]][path[1]]… to `value`."""
    for key in path[:-1]:
        out = out.setdefault(key, {})
    out[path[-1]] = value
