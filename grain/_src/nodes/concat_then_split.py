"""Concatenates the sequences of a stream and splits them into rows of fixed length."""

import enum
from collections.abc import Callable, Sequence
from itertools import takewhile
from time import perf_counter
from typing import Any, TypeVar

from grain._src.errors import StateError
from grain._src.frozen import frozen
from grain._src.nodes.base import Node
from grain._src.nodes.concat_rows import DocumentFiller, Filled, Filler, Slices, VectorFiller
from grain._src.nodes.counts import count
from grain._src.nodes.packing_batches import PackedRowsIterator
from grain._src.nodes.packing_features import Feature
from grain._src.nodes.packing_rows import Column, Like, RowWriter, rows_at_once
from grain._src.nodes.stream import DatasetIterator, StreamNode, closed_error, field, is_interrupt

# Rows that are had sooner are filled several at a time, to be written together.
_QUICK_SECONDS = 1e-3

_WHOLE = (-1, -1)
Written = TypeVar("Written", list[dict[str, Any]], dict[str, Any])


@enum.unique
class BOSHandling(enum.Enum):
    """What becomes of the first token of each piece of a sequence."""

    DO_NOTHING = enum.auto()
    REPLACE_FIRST_TOKEN_WITH_BOS = enum.auto()


@frozen
class StreamConcatThenSplit(StreamNode):
    """Fills one row after the other; a sequence that does not fit is split, and its rest begins the next row.

    Args:
      parent: gives dicts of sequences.
      features: what to pack; meta features are not split but repeated with each piece.
      split_full_length_features: whether an element that fills a row by itself is split too, not passed through.
      bos_features: features whose pieces all begin with `bos_token_id`.
      bos_token_id: that token.
    """

    name = "concat_then_split"
    parent: Node
    features: tuple[Feature, ...]
    split_full_length_features: bool = True
    bos_features: frozenset[str] = frozenset()
    bos_token_id: int | None = None

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    def describe(self) -> str:
        return f"concat_then_split({ {feature.path[0]: feature.length for feature in self.features} })"

    def build(self, parents: Sequence[DatasetIterator[Any]]) -> DatasetIterator[Any]:
        return ConcatThenSplitIterator(self, parents[0])


def _filler(node: StreamConcatThenSplit, parent: DatasetIterator[Any]) -> Filler:
    if len(node.features) == 1 and not node.features[0].meta and node.split_full_length_features:
        return VectorFiller(node.features, parent)
    return DocumentFiller(node.features, parent, not node.split_full_length_features)


class ConcatThenSplitIterator(PackedRowsIterator):
    """Its state: where the parent was before the row, what part of the next document is left, and how many elements
    were handed out since.

    The part is a slice of each feature, [-1, -1] for a whole document.
    """

    def __init__(self, node: StreamConcatThenSplit, parent: DatasetIterator[Any]) -> None:
        super().__init__(parent)
        self._node = node
        self._filler = _filler(node, parent)
        self._writer = RowWriter(node.features)
        self._most_at_once = rows_at_once(node.features)
        names = [feature.path[0] for feature in node.features]
        self._bos = [(name, number) for number, name in enumerate(names) if name in node.bos_features]
        self._begin(parent.get_state(), None, 0)

    def _begin(self, start: dict[str, Any], slices: Slices | None, handed: int) -> None:
        """Goes to where the parent is before the document of which `slices` are left, `handed` elements back."""
        self._start = (start, slices)  # with `_handed`, the state
        self._handed = handed
        self._filler.begin(slices, handed)
        self._filled: list[Filled] = []  # rows that are not written yet, in reverse
        self._written = []  # what the last of them look like, in reverse
        self._at_once = 1
        self._error: BaseException | None = None  # what was raised after them

    def __next__(self) -> Any:
        if self._closed:
            raise closed_error(self._node.describe())
        if not self._written:
            try:
                if not self._filled:
                    self._fill_some(self._most_at_once)
                _, written = self._write(self._most_at_once, self._writer.write)
                self._written = written[::-1]
            except BaseException as error:
                if is_interrupt(error):
                    self.set_state(self.get_state())
                raise
        # From here on nothing is called: Ctrl-C comes before the row is handed out, or after.
        row = self._written[-1]
        _, self._start, self._handed = self._filled[-1]
        del self._filled[-1], self._written[-1]
        return row

    def _fill_some(self, most: int) -> None:
        """Completes rows, up to `most` if that is quick; an error comes after the rows before it."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        began = perf_counter()
        wanted = min(self._at_once, most)
        filled: list[Filled] = []
        try:
            while len(filled) < wanted:
                more = self._filler.next_rows(wanted - len(filled))
                if not more:
                    break
                filled += more
        except BaseException as error:
            if not filled or is_interrupt(error):
                raise
            self._error = error
        if not filled:
            raise StopIteration
        quick = perf_counter() - began < _QUICK_SECONDS
        self._at_once = min(2 * self._at_once, self._most_at_once) if quick else 1
        self._filled = filled[::-1]

    def _write_part(self, most: int) -> tuple[int, dict[str, Any]]:
        if not self._filled:
            self._fill_some(most)
        rows, batch = self._write(most, self._writer.write_batch)
        _, self._start, self._handed = rows[-1]
        del self._filled[-len(rows) :]
        return len(rows), batch

    def _write(
        self, most: int, write: Callable[[Sequence[Like], Sequence[Column]], Written]
    ) -> tuple[list[Filled], Written]:
        """Writes the next row, and with it those after it that are alike, up to `most`."""
        following = self._filled[: -most - 1 : -1]
        kind = following[0].kind
        rows = list(takewhile(lambda row: row.kind == kind, following))
        columns = list(zip(*[row.columns for row in rows], strict=True))
        try:
            written = write([Like.of(arrays[0]) for arrays in rows[0].columns], columns)
        except Exception:
            if len(rows) > 1:  # it may be one of the others
                return self._write(1, write)
            _, self._start, self._handed = self._filled.pop()
            raise
        for name, number in self._bos:
            values = written[name] if isinstance(written, dict) else [row[name] for row in written]
            for row_values, arrays in zip(values, columns[number], strict=True):
                at = 0
                for array in arrays:
                    if len(array):
                        row_values[at] = self._node.bos_token_id
                    at += len(array)
        return rows, written

    def get_state(self) -> dict[str, Any]:
        start, slices = self._start
        whole = {feature.path[0]: _WHOLE for feature in self._node.features if not feature.meta}
        return {
            "parent_state": start,
            "remainder_slices": {name: list(own) for name, own in (slices or whole).items()},
            "elements_from_buffer_after_checkpoint": self._handed,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        start, handed = field(state, "parent_state", dict), count(state, "elements_from_buffer_after_checkpoint")
        slices = field(state, "remainder_slices", dict)
        names = {feature.path[0] for feature in self._node.features if not feature.meta}
        if set(slices) != names:
            raise StateError(f"the state is of features {sorted(slices)}, these are {sorted(names)}")
        try:
            left = {name: (int(own[0]), int(own[1])) for name, own in slices.items()}
        except (TypeError, ValueError, IndexError, KeyError):
            raise StateError(
                f"'remainder_slices' in the state must hold two integers a feature, got {slices}"
            ) from None
        self._parent.set_state(start)
        self._begin(start, None if all(own == _WHOLE for own in left.values()) else left, handed)
