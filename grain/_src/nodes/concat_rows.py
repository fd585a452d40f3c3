"""Rows filled one after the other with documents: what does not fit is split, and its rest begins the next row."""

import abc
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from grain._src.errors import StateError
from grain._src.nodes.lookahead import Lookahead
from grain._src.nodes.packing_features import Array, Document, DocumentReader, Feature, all_have_one
from grain._src.nodes.stream import DatasetIterator

# Elements that are passed through unsplit wait until the row that was begun before them is complete. So that a stream of
# nothing else does not collect in memory, the row is closed when this many wait.
MOST_WAITING = 1024

Cut: TypeAlias = list[tuple[int, int]]  # from where to where in each feature
Slices: TypeAlias = dict[str, tuple[int, int]]  # the same by name, of the features that are split
# Where the parent was before a row, and what was left of a document then.
Start: TypeAlias = tuple[dict[str, Any], Slices | None]


class Filled(NamedTuple):
    """A row that is complete, by feature, with the state after it is handed out."""

    columns: list[list[Array]]
    start: Start
    handed: int

    @property
    def kind(self) -> list[tuple[Any, Any]]:
        """What the arrays are; rows of one kind can be written together."""
        return [(arrays[0].dtype, arrays[0].shape[1:]) for arrays in self.columns]


class Filler(abc.ABC):
    """Reads documents and fills rows.

    Args:
      features: what rows have.
      parent: gives elements.
    """

    def __init__(self, features: Sequence[Feature], parent: DatasetIterator[Any]) -> None:
        self._features = features
        self._names = [feature.path[0] for feature in features]
        self._keys = frozenset(self._names)
        self._meta = [number for number, feature in enumerate(features) if feature.meta]
        self._limits = [feature.length for feature in features]
        self._reader = DocumentReader(features, split=True)
        self._ahead = Lookahead(parent)

    def begin(self, slices: Slices | None, skip: int) -> None:
        """Begins anew: with a document of which `slices` are left, and rows of which `skip` are passed over."""
        self._left_of_first = slices
        self._skip = skip
        self._ahead.restart()
        self._restart()

    @abc.abstractmethod
    def _restart(self) -> None:
        """Begins with an empty row."""

    def next_rows(self, most: int) -> list[Filled]:
        """Completes at least one row, and no more than `most` but for those that come with it; none at the end.

        An error of the parent leaves all as it is.
        """
        while True:
            rows = self._complete(most)
            skip, self._skip = self._skip, 0
            if skip:
                there = sum(row.start is rows[0].start for row in rows)  # a row, and what waited for it
                if skip > there:
                    raise StateError(f"the state says {skip} elements are handed out, but there are {there}")
            if len(rows) > skip or not skip:
                return rows[skip:]

    @abc.abstractmethod
    def _complete(self, most: int) -> list[Filled]:
        """Does so; the first rows are not yet passed over."""

    def _left_of(self, document: Document) -> Cut | None:
        """Returns the part of a document that is left, if it is the first after a state was set; None for all of it."""
        slices, self._left_of_first = self._left_of_first, None
        if slices is None:
            return None
        cut = [slices.get(name, (0, length)) for name, length in zip(self._names, document.lengths, strict=True)]
        if any(not 0 <= start <= stop <= length for (start, stop), length in zip(cut, document.lengths, strict=True)):
            raise StateError(f"the state is within a document of other lengths than {document.lengths}: {slices}")
        return cut

    def _read(self, element: Any) -> Document:
        if (type(element) is not dict and not isinstance(element, Mapping)) or element.keys() != self._keys:
            has = list(element) if isinstance(element, Mapping) else type(element).__name__
            raise ValueError(
                f"elements must be flat dicts with the features of length_struct, {self._names}, got {has}"
            )
        document = self._reader.read(element)
        for number in self._meta:
            feature, length = self._features[number], document.lengths[number]
            if length > feature.length:
                raise ValueError(
                    f"meta feature {feature.title} has {length} values, but only {feature.length} fit into a row and it is "
                    "never split. Raise its length in length_struct."
                )
        return document

    def _read_next(self) -> Document:
        """Takes the next of the elements that were read, also if there is something wrong with it."""
        element = self._ahead.elements[self._ahead.taken]
        self._ahead.taken += 1
        try:
            return self._read(element)
        except Exception:
            self._left_of_first = None
            raise


class VectorFiller(Filler):
    """Fills rows with one feature: documents are split wherever a row ends."""

    def _restart(self) -> None:
        self._start: Start = ({}, None)
        self._pieces: list[Array] = []
        self._free = self._limits[0]
        self._vectors: list[Array] | None = None  # the elements that were read, if each is nothing but one

    def _complete(self, most: int) -> list[Filled]:
        filled: list[Filled] = []
        while not filled and self._ahead.more(0):
            number = self._ahead.taken
            at, arrays = self._next_arrays()
            self._ahead.taken = number + self._add(arrays, at, number, most, filled)
        if not filled and self._pieces:  # the stream is at its end
            filled.append(Filled([self._pieces], self._start, 1))
            self._restart()
        return filled

    def _next_arrays(self) -> tuple[int, list[Array]]:
        """Returns documents, and where the first of them begins: only one if they are not vectors."""
        ahead = self._ahead
        if not ahead.taken:
            vectors = self._reader.read_vectors(ahead.elements, brief=True)
            self._vectors = vectors.arrays[0] if vectors is not None and all_have_one(ahead.elements) else None
        if self._vectors is not None and self._left_of_first is None:
            return 0, self._vectors[ahead.taken :]
        document = self._read_next()
        left = self._left_of(document)
        return (0, [document.arrays[0]]) if left is None else (left[0][0], [document.arrays[0][: left[0][1]]])

    def _add(self, arrays: list[Array], at: int, number: int, most: int, filled: list[Filled]) -> int:
        """Adds documents until so many rows are complete, and returns how many; the first has a `number`, and begins `at`."""
        (name,), (limit,) = self._names, self._limits
        free, pieces, start = self._free, self._pieces, self._start
        added = 0
        for added, array in enumerate(arrays, 1):
            length = len(array)
            if length - at > free or not pieces:
                before = self._ahead.state_before(number + added - 1)
                while True:
                    if not pieces:
                        start = (before, {name: (at, length)} if at else None)
                    if length - at <= free:
                        break
                    if free:
                        pieces.append(array[at : at + free])
                        at += free
                    filled.append(Filled([pieces], start, 1))
                    pieces, free = [], limit
            pieces.append(array[at:] if at else array)
            free -= length - at
            at = 0
            if len(filled) >= most:
                break
        self._free, self._pieces, self._start = free, pieces, start
        return added


class DocumentFiller(Filler):
    """Fills rows with any features.

    Args:
      features: what rows have.
      parent: gives elements.
      passing: whether a document that fills a row by itself is passed through.
    """

    def __init__(self, features: Sequence[Feature], parent: DatasetIterator[Any], passing: bool) -> None:
        super().__init__(features, parent)
        self._passing = passing

    def _restart(self) -> None:
        self._rest: tuple[Document, Cut | None, dict[str, Any]] | None = None
        self._begin_row()

    def _begin_row(self) -> None:
        self._start: Start = ({}, None)
        self._row = _Row(self._features)
        self._waiting: list[Document] = []

    def _complete(self, most: int) -> list[Filled]:
        """Completes a row; it and the documents that waited for it are what comes next."""
        del most
        self._fill()
        ready = [self._row.columns] if self._row.begun else []
        ready += [[[array] for array in document.arrays] for document in self._waiting]
        rows = [Filled(columns, self._start, handed) for handed, columns in enumerate(ready, 1)]
        self._begin_row()
        return rows

    def _fill(self) -> None:
        """Adds documents to the row until one does not fit as a whole."""
        row, waiting, ahead = self._row, self._waiting, self._ahead
        while True:
            if self._rest is not None:
                document, cut, before = self._rest
            elif ahead.more(0):
                document = self._read_next()
                cut, before = self._left_of(document), ahead.state_before(ahead.taken - 1)
            else:
                return
            self._rest = None
            if not row.begun and not waiting:
                self._start = (before, None if cut is None else self._slices_of(cut))
            if cut is None and self._passing and self._fills_a_row(document):
                waiting.append(document)
                if len(waiting) == MOST_WAITING:
                    return
                continue
            left = row.add(document, cut or [(0, length) for length in document.lengths])
            if left is None or left:
                self._rest = (document, left or cut, before)
                return

    def _fills_a_row(self, document: Document) -> bool:
        pairs = list(zip(document.lengths, self._limits, strict=True))
        return all(length <= limit for length, limit in pairs) and any(length == limit for length, limit in pairs)

    def _slices_of(self, cut: Cut) -> Slices:
        return {feature.path[0]: own for feature, own in zip(self._features, cut, strict=True) if not feature.meta}


class _Row:
    """A row being filled."""

    def __init__(self, features: Sequence[Feature]) -> None:
        self._features = features
        self._free = [feature.length for feature in features]
        self.columns: list[list[Array]] = [[] for _ in features]

    @property
    def begun(self) -> bool:
        """Whether it has a piece of a document."""
        return bool(self.columns[0])

    def add(self, document: Document, cut: Cut) -> Cut | None:
        """Takes what fits of a document's part and returns the rest, which is empty if all of it fits.

        Returns None if nothing fits.
        """
        free, ends, fits, some = self._free, [], True, False
        for number, (start, stop) in enumerate(cut):
            meta = self._features[number].meta
            end = stop
            if stop - start > free[number]:
                if meta:
                    return None
                end, fits = start + free[number], False
            some = some or (end > start and not meta)
            ends.append(end)
        if not fits and not some:
            return None
        for number, (array, end) in enumerate(zip(document.arrays, ends, strict=True)):
            start = cut[number][0]
            free[number] -= end - start
            self.columns[number].append(array[start:end])
        if fits:
            return []
        pairs = zip(self._features, cut, ends, strict=True)
        return [own if feature.meta else (end, own[1]) for feature, own, end in pairs]
