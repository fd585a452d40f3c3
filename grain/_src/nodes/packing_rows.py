"""Packed rows as arrays: values, segment ids and positions."""

import functools
import itertools
import operator
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from grain._src import trees
from grain._src.columns import flat_of
from grain._src.nodes.packing_features import Array, Feature, dtype_of_all

# So many rows, or tokens, are written at once: quicker than one by one, and who keeps one row keeps few others.
_ROWS_AT_ONCE = 16
_TOKENS_AT_ONCE = 1 << 16

Column: TypeAlias = Sequence[Sequence[Array]]  # the sequences of one feature, row by row
Lengths: TypeAlias = Sequence[Sequence[int]]  # how long they are, or where they begin


@functools.lru_cache(maxsize=8)
def _counting(length: int) -> Array:
    return np.arange(length, dtype=np.int32)


def rows_at_once(features: Sequence[Feature]) -> int:
    """How many rows to write together."""
    return max(1, min(_ROWS_AT_ONCE, _TOKENS_AT_ONCE // max(feature.length for feature in features)))


class Like:
    """The dtype of a packed feature and the shape of one of its tokens.

    Args:
      dtype: of the first sequence.
      shape: of its tokens.
      alike: whether all sequences have that dtype; None if nobody has looked.
    """

    __slots__ = ("alike", "dtype", "shape")

    def __init__(self, dtype: Any, shape: tuple[int, ...], alike: bool | None = None) -> None:
        self.dtype = dtype
        self.shape = shape
        self.alike = alike

    @classmethod
    def of(cls, array: Array) -> "Like":
        """Returns what a sequence is like."""
        return cls(array.dtype, array.shape[1:])

    def check(self, feature: Feature, array: Array) -> None:
        """Raises if sequences as `array` cannot be packed with those before it."""
        if array.shape[1:] != self.shape:
            raise ValueError(
                f"feature {feature.title} has tokens of shape {array.shape[1:]}, those packed before it have shape {self.shape}"
            )


def lengths_of(rows: Column) -> Lengths:
    """How long the sequences are."""
    return [list(map(len, arrays)) for arrays in rows]


def pack_values(feature: Feature, like: Like, rows: Column, lengths: Lengths, starts: Lengths | None = None) -> Array:
    """Returns an array of rows, each with its sequences (of `lengths`) at `starts`, or one after the other."""
    length = feature.length
    padding = np.zeros((length, *like.shape), like.dtype)
    if feature.padding is not None:
        padding[:] = feature.padding
    parts: list[Any] = []
    for number, arrays in enumerate(rows):
        end = 0
        if starts is None:
            parts += arrays
            end = sum(lengths[number])
        else:
            for start, array in zip(starts[number], arrays, strict=True):
                parts += (padding[: start - end], array)
                end = start + len(array)
        if end < length:
            parts.append(padding[end:])
    alike = dtype_of_all(parts) is like.dtype if like.alike is None else like.alike
    if alike and not like.shape and not like.dtype.hasobject:
        return flat_of(parts, like.dtype).reshape(len(rows), length)
    values = np.empty((len(rows) * length, *like.shape), like.dtype)
    try:
        np.concatenate(parts, out=values, casting="unsafe")
    except ValueError:
        for array in itertools.chain.from_iterable(rows):
            like.check(feature, array)
        raise
    return values.reshape(len(rows), length, *like.shape)


def pack_marks(length: int, rows: Lengths, starts: Lengths | None = None) -> tuple[Array, Array]:
    """Returns the segment ids (from 1, 0 in the padding) and the positions within each sequence, for rows of lengths."""
    ids: list[int] = []
    spans: list[int] = []
    for number, lengths in enumerate(rows):
        end = 0
        if starts is None:
            ids += range(1, len(lengths) + 1)
            spans += lengths
            end = sum(lengths)
        else:
            for segment, (start, own) in enumerate(zip(starts[number], lengths, strict=True), 1):
                ids += (0, segment)
                spans += (start - end, own)
                end = start + own
        if end < length:
            ids.append(0)
            spans.append(length - end)
    counts = np.array(spans)
    segment_ids = np.array(ids, np.int32).repeat(counts)
    begins = (counts.cumsum(dtype=np.int32) - counts).astype(np.int32).repeat(counts)
    positions = np.subtract(_counting(len(rows) * length), begins, out=begins)
    np.copyto(positions, 0, where=segment_ids == 0)
    return segment_ids.reshape(-1, length), positions.reshape(-1, length)


class RowWriter:
    """Makes the elements that packing gives: flat dicts but for nested meta features."""

    def __init__(self, features: Sequence[Feature], extras: Sequence[str] = ()) -> None:
        self._features = features
        self._extras = extras
        names = [feature.path[0] for feature in features]
        self._marks = [((f"{name}_segment_ids",), (f"{name}_positions",)) for name in names]

    def write(
        self,
        likes: Sequence[Like],
        columns: Sequence[Column],
        starts: Sequence[Lengths] | None = None,
        extras: Sequence[Sequence[list[Any]]] | None = None,
    ) -> list[dict[str, Any]]:
        """Returns packed rows; several at once take less time, and share their memory.

        Args:
          likes: dtype and token shape of each feature.
          columns: the sequences of each feature.
          starts: where they begin; one after the other if None.
          extras: for each row the values of each unpacked meta feature.
        """
        written: list[dict[str, Any]] = [
            dict(zip(self._extras, extras[number], strict=True)) if extras else {} for number in range(len(columns[0]))
        ]
        for path, array in self._arrays(likes, columns, starts):
            for out, row in zip(written, array, strict=True):
                put(out, path, row)
        return written

    def write_batch(
        self,
        likes: Sequence[Like],
        columns: Sequence[Column],
        starts: Sequence[Lengths] | None = None,
    ) -> dict[str, Any]:
        """Returns packed rows as one batch of them."""
        batch: dict[str, Any] = {}
        for path, array in self._arrays(likes, columns, starts):
            put(batch, path, trees.as_stacked(array))
        return batch

    def _arrays(
        self, likes: Sequence[Like], columns: Sequence[Column], starts: Sequence[Lengths] | None
    ) -> Iterator[tuple[tuple[str, ...], Array]]:
        """Yields what the rows have, an array of rows each, with where in an element it belongs."""
        marks: tuple[Array, Array] | None = None
        made_of: tuple[int, Lengths] | None = None  # what the last marks are of
        for number, feature in enumerate(self._features):
            arrays, own_starts = columns[number], None if starts is None else starts[number]
            lengths = lengths_of(arrays)
            yield feature.path, pack_values(feature, likes[number], arrays, lengths, own_starts)
            if feature.meta:
                continue
            if marks is not None and starts is None and made_of == (feature.length, lengths):
                marks = (marks[0].copy(), marks[1].copy())
            else:
                marks = pack_marks(feature.length, lengths, own_starts)
                made_of = (feature.length, lengths)
            yield from zip(self._marks[number], marks, strict=True)


def joined(batches: list[dict[str, Any]]) -> Any:
    """Returns batches of rows as one, as if their rows had been stacked."""
    if len(batches) == 1:
        return batches[0]
    dtypes = [[array.dtype for array in trees.leaves(batch)] for batch in batches]
    if dtypes.count(dtypes[0]) == len(dtypes):
        return trees.map_leaves(lambda *arrays: np.concatenate(arrays), *batches)
    rows = []
    for batch in batches:
        for at in range(len(trees.leaves(batch)[0])):
            rows.append(trees.map_leaves(operator.itemgetter(at), batch))
    return trees.stack(rows)


def put(out: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    """Sets out[path[0]][path[1]]… to `value`."""
    for key in path[:-1]:
        out = out.setdefault(key, {})
    out[path[-1]] = value
