"""Concatenates the sequences of a stream and splits them into rows of fixed length."""

import enum
from collections.abc import Mapping, Sequence
from itertools import takewhile
from time import perf_counter
from typing import Any, NamedTuple

from grain._src.errors import StateError
from grain._src.frozen import frozen
from grain._src.nodes.base import Node
from grain._src.nodes.counts import count
from grain._src.nodes.packing_features import Array, Document, DocumentReader, Feature
from grain._src.nodes.packing_rows import Like, RowWriter, rows_at_once
from grain._src.nodes.stream import DatasetIterator, StreamNode, closed_error, field, is_interrupt

# Elements that are passed through unsplit wait until the row that was begun before them is complete. So that a stream of
# nothing else does not collect in memory, the row is closed when this many wait.
MOST_WAITING = 1024
# Rows that are had sooner are filled several at a time, to be written together.
_QUICK_SECONDS = 1e-3

Cut = list[tuple[int, int]]  # from where to where in each feature
Slices = dict[str, tuple[int, int]]  # the same by name, of the features that are split
_WHOLE = (-1, -1)


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


class _Filled(NamedTuple):
    """A row that is complete, with the state after it is handed out."""

    pieces: list[list[Array]]
    start: tuple[dict[str, Any], Slices | None]
    handed: int

    @property
    def kind(self) -> list[tuple[Any, Any]]:
        """What the arrays are; rows of one kind can be written together."""
        return [(array.dtype, array.shape[1:]) for array in self.pieces[0]]


class _Row:
    """A row being filled: pieces of documents, each a sequence a feature."""

    def __init__(self, features: Sequence[Feature]) -> None:
        self._features = features
        self._free = [feature.length for feature in features]
        self.pieces: list[list[Array]] = []

    def add_whole(self, document: Document) -> bool:
        """Takes a document if all of it fits."""
        free = self._free
        for number, length in enumerate(document.lengths):
            if length > free[number]:
                return False
        for number, length in enumerate(document.lengths):
            free[number] -= length
        self.pieces.append(document.arrays)
        return True

    def add(self, document: Document, cut: Cut) -> Cut | None:
        """Takes what fits of a document's part and returns the rest, which is empty if all of it fits.

        Returns None if nothing fits.
        """
        free, took, rest, fits, some = self._free, [], [], True, False
        for number, (start, stop) in enumerate(cut):
            meta = self._features[number].meta
            end = stop
            if stop - start > free[number]:
                if meta:
                    return None
                end, fits = start + free[number], False
            some = some or (end > start and not meta)
            took.append((start, end))
            rest.append((start, stop) if meta else (end, stop))
        if not fits and not some:
            return None
        for number, (start, end) in enumerate(took):
            free[number] -= end - start
        self.pieces.append([array[slice(*took[number])] for number, array in enumerate(document.arrays)])
        return [] if fits else rest


class ConcatThenSplitIterator(DatasetIterator[Any]):
    """Its state: where the parent was before the row, what part of the next document is left, and how many elements
    were handed out since.

    The part is a slice of each feature, [-1, -1] for a whole document.
    """

    def __init__(self, node: StreamConcatThenSplit, parent: DatasetIterator[Any]) -> None:
        super().__init__(parent)
        self._node = node
        self._reader = DocumentReader(node.features)
        self._writer = RowWriter(node.features)
        self._names = [feature.path[0] for feature in node.features]
        self._keys = frozenset(self._names)
        self._meta = [number for number, feature in enumerate(node.features) if feature.meta]
        self._limits = [feature.length for feature in node.features]
        self._most_at_once = rows_at_once(node.features)
        self._bos = [(name, number) for number, name in enumerate(self._names) if name in node.bos_features]
        self._begin(parent.get_state(), None, 0)

    def _begin(self, start: dict[str, Any], slices: Slices | None, handed: int) -> None:
        """Goes to where the parent is before the document of which `slices` are left, `handed` elements back."""
        self._start = (start, slices)  # with `_handed`, the state
        self._handed = handed
        self._skip = handed
        self._row_start = self._start  # of the row that is being filled
        self._row = _Row(self._node.features)
        self._waiting: list[Document] = []
        self._rest: tuple[Document, Cut | None, dict[str, Any]] | None = None
        self._left_of_first = slices
        self._filled: list[_Filled] = []  # rows that are not written yet, in reverse
        self._written: list[dict[str, Any]] = []  # what the last of them look like, in reverse
        self._at_once = 1
        self._error: BaseException | None = None  # what was raised after them

    def __next__(self) -> Any:
        if self._closed:
            raise closed_error(self._node.describe())
        if not self._written:
            try:
                if not self._filled:
                    self._fill_some()
                self._write_some(self._most_at_once)
            except BaseException as error:
                if is_interrupt(error):
                    self.set_state(self.get_state())
                raise
        # From here on nothing is called: Ctrl-C comes before the row is handed out, or after.
        row = self._written[-1]
        _, self._start, self._handed = self._filled[-1]
        del self._filled[-1], self._written[-1]
        return row

    def _fill_some(self) -> None:
        """Completes rows, several if that is quick; an error comes after the rows before it."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        began = perf_counter()
        filled: list[_Filled] = []
        try:
            while len(filled) < self._at_once:
                more = self._next_rows()
                if not more:
                    break
                filled += more
        except BaseException as error:
            if not filled:
                raise
            self._error = error
        if not filled:
            raise StopIteration
        quick = perf_counter() - began < _QUICK_SECONDS
        self._at_once = min(2 * self._at_once, self._most_at_once) if quick else 1
        self._filled = filled[::-1]

    def _next_rows(self) -> list[_Filled]:
        """Completes a row; it and the documents that waited for it are what comes next."""
        while True:
            self._fill()
            ready = [self._row.pieces] if self._row.pieces else []
            ready += [[document.arrays] for document in self._waiting]
            skip = self._skip
            if skip > len(ready):
                raise StateError(f"the state says {skip} elements are handed out, but there are {len(ready)}")
            filled = [_Filled(pieces, self._row_start, handed) for handed, pieces in enumerate(ready, 1)]
            self._skip = 0
            self._row, self._waiting = _Row(self._node.features), []
            if filled[skip:] or not skip:
                return filled[skip:]

    def _fill(self) -> None:
        """Adds documents to the row until one does not fit as a whole; an error of the parent leaves all as it is."""
        row, waiting, parent = self._row, self._waiting, self._parent
        passing = not self._node.split_full_length_features
        while True:
            cut: Cut | None
            if self._rest is not None:
                document, cut, before = self._rest
            else:
                before = parent.get_state()
                try:
                    element = next(parent)
                except StopIteration:
                    return
                slices, self._left_of_first = self._left_of_first, None
                document = self._read(element)
                cut = None if slices is None else self._cut_of(slices, document)
            if not row.pieces and not waiting:
                self._row_start = (before, None if cut is None else self._slices_of(cut))
            if cut is None:
                self._rest = None
                if passing and self._fills_a_row(document):
                    waiting.append(document)
                    if len(waiting) == MOST_WAITING:
                        return
                    continue
                if row.add_whole(document):
                    continue
            left = row.add(document, cut or [(0, length) for length in document.lengths])
            if left is None:
                self._rest = (document, cut, before)
                return
            self._rest = (document, left, before) if left else None
            if left:
                return

    def _fills_a_row(self, document: Document) -> bool:
        pairs = list(zip(document.lengths, self._limits, strict=True))
        return all(length <= limit for length, limit in pairs) and any(length == limit for length, limit in pairs)

    def _read(self, element: Any) -> Document:
        if (type(element) is not dict and not isinstance(element, Mapping)) or element.keys() != self._keys:
            has = list(element) if isinstance(element, Mapping) else type(element).__name__
            raise ValueError(
                f"elements must be flat dicts with the features of length_struct, {self._names}, got {has}"
            )
        document = self._reader.read(element)
        for number in self._meta:
            feature, length = self._node.features[number], document.lengths[number]
            if length > feature.length:
                raise ValueError(
                    f"meta feature {feature.title} has {length} values, but only {feature.length} fit into a row and it is "
                    "never split. Raise its length in length_struct."
                )
        return document

    def _slices_of(self, cut: Cut) -> Slices:
        return {feature.path[0]: own for feature, own in zip(self._node.features, cut, strict=True) if not feature.meta}

    def _cut_of(self, slices: Slices, document: Document) -> Cut:
        cut = [slices.get(name, (0, length)) for name, length in zip(self._names, document.lengths, strict=True)]
        if any(not 0 <= start <= stop <= length for (start, stop), length in zip(cut, document.lengths, strict=True)):
            raise StateError(f"the state is within a document of other lengths than {document.lengths}: {slices}")
        return cut

    def _write_some(self, most: int) -> None:
        """Writes the next row, and with it those after it that are alike, up to `most`."""
        rows = self._filled[: -most - 1 : -1]
        alike = list(takewhile(lambda row: row.kind == rows[0].kind, rows))
        try:
            self._written = self._write([row.pieces for row in alike])
        except Exception:
            if len(alike) > 1:  # it may be one of the others
                return self._write_some(1)
            _, self._start, self._handed = self._filled.pop()
            raise

    def _write(self, rows: list[list[list[Array]]]) -> list[dict[str, Any]]:
        """Returns rows of one kind as elements, in reverse."""
        columns = [[[piece[number] for piece in pieces] for pieces in rows] for number in range(len(self._names))]
        written = self._writer.write([Like(array) for array in rows[0][0]], columns)
        for name, number in self._bos:
            for row, arrays in zip(written, columns[number], strict=True):
                at = 0
                for array in arrays:
                    if len(array):
                        row[name][at] = self._node.bos_token_id
                    at += len(array)
        return written[::-1]

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
