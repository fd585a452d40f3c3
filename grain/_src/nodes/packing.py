"""First-fit and best-fit packing: sequences of a stream share rows of fixed length."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from grain._src.errors import StateError
from grain._src.frozen import frozen
from grain._src.nodes.base import Node
from grain._src.nodes.counts import count
from grain._src.nodes.lookahead import Lookahead
from grain._src.nodes.packing_batches import PackedRowsIterator
from grain._src.nodes.packing_bins import make_bins
from grain._src.nodes.packing_features import Array, Document, DocumentReader, Feature, Vectors
from grain._src.nodes.packing_rows import Column, Like, RowWriter, rows_at_once
from grain._src.nodes.stream import DatasetIterator, StreamNode, closed_error, field, is_interrupt

# Until a group of so many tokens is complete, its sequences may stay where workers put them, next to what comes later.
_MOST_BRIEF_TOKENS = 1 << 20


@frozen
class StreamPack(StreamNode):
    """Fills groups of rows; an element that fits none of them ends the group and begins the next one.

    Args:
      parent: gives dicts of sequences.
      features: what to pack.
      num_packing_bins: how many rows a group has.
      seed: of the order of the rows within a group.
      shuffle_bins: whether to hand them out in a random order.
      shuffle_bins_group_by_feature: a feature by whose mean distinct value rows are sorted, ties in random order.
      extras: meta features that are listed, not packed.
      max_sequences_per_bin: how many elements a row may take.
    """

    name = "first_fit_pack"
    best: ClassVar[bool] = False
    parent: Node
    features: tuple[Feature, ...]
    num_packing_bins: int
    seed: int = 0
    shuffle_bins: bool = True
    shuffle_bins_group_by_feature: str | None = None
    extras: tuple[str, ...] = ()
    max_sequences_per_bin: int | None = None

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    def describe(self) -> str:
        lengths = {".".join(feature.path): feature.length for feature in self.features}
        return f"{self.name}({lengths}, num_packing_bins={self.num_packing_bins})"

    def build(self, parents: Sequence[DatasetIterator[Any]]) -> DatasetIterator[Any]:
        return PackIterator(self, parents[0])


@frozen
class StreamBestFitPack(StreamPack):
    """As above, but an element goes to the fitting row with the least space left, not to the first one."""

    name = "best_fit_pack"
    best: ClassVar[bool] = True


class _Group:
    """Rows being filled."""

    def __init__(self, node: StreamPack, writer: RowWriter, start: dict[str, Any]) -> None:
        self.start = start  # where the parent was before the first element
        self.bins = make_bins(node.features, node.num_packing_bins, node.max_sequences_per_bin, node.best)
        self._node = node
        self._writer = writer
        # By feature and row: the sequences, and, if alignment makes gaps, where they begin.
        rows = range(node.num_packing_bins)
        self._columns: list[list[list[Array]]] = [[[] for _ in rows] for _ in node.features]
        aligned = any(feature.alignment > 1 for feature in node.features)
        self._starts: list[list[list[int]]] = [[[] for _ in rows] for _ in node.features] if aligned else []
        # By row: what is only listed.
        self._extras: list[list[list[Any]]] = [[[] for _ in node.extras] for _ in rows] if node.extras else []
        self._likes: list[Like] | None = None
        self._flat = True  # whether tokens are scalars

    def add(self, document: Document) -> bool:
        """Puts a document into one of the rows; says no if it fits none."""
        if self._likes is None:
            self._likes = [Like(array.dtype, array.shape[1:], alike=True) for array in document.arrays]
            self._flat = not any(like.shape for like in self._likes)
        for array in document.arrays:
            if array.ndim > 1 or not self._flat:
                for like, feature, own in zip(self._likes, self._node.features, document.arrays, strict=True):
                    like.check(feature, own)
                break
        row = self.bins.place(document.lengths)
        if row is None:
            return False
        for like, column, array in zip(self._likes, self._columns, document.arrays, strict=True):
            column[row].append(array)
            if array.dtype is not like.dtype:
                like.alike = False
        if document.extras:
            for listed, value in zip(self._extras[row], document.extras, strict=True):
                listed.append(value)
        for starts, start in zip(self._starts, self.bins.placed_at, strict=True):
            starts[row].append(start)
        return True

    def add_vectors(self, vectors: Vectors, begun: int) -> int | None:
        """Adds elements until one fits no row, and says how many; None if rows are not of vectors, one after the other.

        Args:
          vectors: those of the elements.
          begun: how many of them are passed over.
        """
        if self._starts or not self._flat:
            return None
        if self._likes is None:
            firsts = [arrays[begun] for arrays in vectors.arrays]
            pairs = zip(vectors.dtypes, firsts, strict=True)
            self._likes = [Like(first.dtype if dtype is None else dtype, (), alike=True) for dtype, first in pairs]
        for like, dtype in zip(self._likes, vectors.dtypes, strict=True):
            if dtype is not like.dtype:
                like.alike = False
        rows = self.bins.place_all([lengths[begun:] for lengths in vectors.lengths])
        for column, arrays in zip(self._columns, vectors.arrays, strict=True):
            for row, array in zip(rows, arrays[begun:], strict=False):
                column[row].append(array)
        return len(rows)

    def write(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """Returns rows as elements."""
        return self._writer.write(*self._parts(rows), [self._extras[row] for row in rows] if self._extras else None)

    def write_batch(self, rows: Sequence[int]) -> dict[str, Any]:
        """Returns rows as one batch; there must be no values that are only listed."""
        return self._writer.write_batch(*self._parts(rows))

    def _parts(self, rows: Sequence[int]) -> tuple[list[Like], list[Column], list[list[list[int]]] | None]:
        assert self._likes is not None
        columns: list[Column] = [[column[row] for row in rows] for column in self._columns]
        return self._likes, columns, [[s[row] for row in rows] for s in self._starts] or None


class PackIterator(PackedRowsIterator):
    """Its state: where the parent was before the group, how many rows of it are handed out, and how many in all."""

    def __init__(self, node: StreamPack, parent: DatasetIterator[Any]) -> None:
        super().__init__(parent)
        self._node = node
        self._reader = DocumentReader(node.features, node.extras)
        self._writer = RowWriter(node.features, node.extras)
        self._ahead = Lookahead(parent)
        self._at_once = rows_at_once(node.features)
        self._batched = not node.extras
        tokens = node.num_packing_bins * sum(feature.length for feature in node.features)
        self._brief = tokens <= _MOST_BRIEF_TOKENS
        self._counter = 0
        self._begin(parent.get_state(), 0)

    def _begin(self, start: dict[str, Any], skip: int) -> None:
        """Goes to where the parent is before a group of which `skip` rows are handed out."""
        self._place = (start, skip)  # the state
        self._skip = skip
        self._filling = _Group(self._node, self._writer, start)
        self._after = start
        self._ahead.restart()
        self._vectors: Vectors | None = None  # the elements that were read, if all are vectors
        self._left: list[int] = []  # the rows of the group that is handed out that are not written yet, in reverse
        self._written = []  # and those that are, in reverse

    def __next__(self) -> Any:
        if self._closed:
            raise closed_error(self._node.describe())
        if not self._written:
            try:
                self._write_some()
            except BaseException as error:
                if is_interrupt(error):
                    self.set_state(self.get_state())
                raise
        # From here on nothing is called: Ctrl-C comes before the row is handed out, or after.
        row = self._written[-1]
        del self._written[-1]
        start, handed = self._place
        self._counter += 1
        self._place = (start, handed + 1) if self._written or self._left else (self._after, 0)
        return row

    def _write_part(self, most: int) -> tuple[int, dict[str, Any]]:
        if not self._left:
            self._next_group()
        rows = self._left[: -most - 1 : -1]
        del self._left[-len(rows) :]
        start, handed = self._place
        self._place = (start, handed + len(rows)) if self._left else (self._after, 0)
        self._counter += len(rows)
        return len(rows), self._group.write_batch(rows)

    def _write_some(self) -> None:
        if not self._left:
            self._next_group()
        rows = self._left[-self._at_once :]
        del self._left[-self._at_once :]
        self._written = self._group.write(rows)

    def _next_group(self) -> None:
        group = self._filling
        self._fill(group)
        filled = group.bins.filled()
        if not filled and not self._skip:
            raise StopIteration
        skip, self._skip = self._skip, 0
        order = self._order(group, filled, self._counter - skip)
        if skip >= len(order):
            raise StateError(f"the state says {skip} rows of a group are handed out, but it has {len(order)}")
        self._group = group
        self._left = order[skip:][::-1]
        self._place = (group.start, skip)
        self._filling = _Group(self._node, self._writer, self._after)

    def _fill(self, group: _Group) -> None:
        """Adds elements until one does not fit; an error of the parent leaves the group as it is."""
        while self._ahead.more(group.bins.empty):
            if not self._add_some(group):
                self._after = self._ahead.state()
                return
        self._after = self._parent.get_state()

    def _add_some(self, group: _Group) -> bool:
        """Adds elements that were read, at least one; says no at one that does not fit."""
        ahead, begun = self._ahead, self._ahead.taken
        if not begun:
            self._vectors = self._reader.read_vectors(ahead.elements, self._brief, raw=True)
        added = None if self._vectors is None else group.add_vectors(self._vectors, begun)
        if added is not None:
            ahead.taken += added
            return ahead.taken == len(ahead.elements)
        ahead.taken += 1  # also if there is something wrong with it
        if group.add(self._reader.read_short(ahead.elements[begun])):
            return True
        ahead.taken = begun
        return False

    def _order(self, group: _Group, filled: list[int], counter: int) -> list[int]:
        """Returns the rows in the order in which they are handed out."""
        node = self._node
        if not node.shuffle_bins:
            return filled
        shuffled = np.random.default_rng(node.seed + counter).permutation(len(filled))
        if node.shuffle_bins_group_by_feature is None:
            return [filled[number] for number in shuffled.tolist()]
        keys = [_mean_of_distinct(row[node.shuffle_bins_group_by_feature]) for row in group.write(filled)]
        return [filled[number] for number in np.lexsort((shuffled, np.array(keys))).tolist()]

    def get_state(self) -> dict[str, Any]:
        start, handed = self._place
        return {"parent": start, "next_row": handed, "counter": self._counter}

    def set_state(self, state: dict[str, Any]) -> None:
        start, handed, counter = field(state, "parent", dict), count(state, "next_row"), count(state, "counter")
        if handed > counter:
            raise StateError(f"the state says {handed} rows of a group are handed out, but {counter} in all")
        self._parent.set_state(start)
        self._counter = counter
        self._begin(start, handed)


def _mean_of_distinct(values: Any) -> float:
    distinct = np.unique(np.asarray(values))
    distinct = distinct[distinct != 0]
    return float(distinct.mean()) if len(distinct) else 0.0
