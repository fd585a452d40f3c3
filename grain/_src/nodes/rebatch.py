"""Batches of another size out of batches."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from grain._src import trees
from grain._src.frozen import frozen
from grain._src.nodes.base import Node
from grain._src.nodes.counts import count
from grain._src.nodes.stream import DatasetIterator, StreamNode, closed_error, field, is_interrupt


@frozen
class StreamRebatch(StreamNode):
    """Cuts and joins batches along their first axis so that each has `batch_size` rows."""

    name = "rebatch"
    parent: Node
    batch_size: int
    drop_remainder: bool = False

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    def build(self, parents: Sequence[DatasetIterator[Any]]) -> DatasetIterator[Any]:
        return RebatchIterator(self, parents[0])


def _rows_of(batch: Any) -> int:
    """Returns how many rows all leaves of `batch` have."""
    found = {}
    for leaf in trees.leaves(batch):
        if not np.ndim(leaf):
            raise TypeError(f"rebatching needs batches, whose leaves have a first axis, got a leaf {leaf!r:.100}")
        found[len(leaf)] = leaf
    if len(found) != 1:
        raise ValueError(f"rebatching needs batches whose leaves are equally long, got lengths {sorted(found)}")
    (rows,) = found
    if not rows:
        raise ValueError("rebatching a batch without rows is not supported")
    return rows


def _join(pieces: list[Any]) -> Any:
    if len(pieces) == 1:
        return pieces[0]
    return trees.map_leaves(lambda *leaves: np.concatenate(leaves), *pieces)


class RebatchIterator(DatasetIterator[Any]):
    """Its state: where the parent was before the batch that is being cut, and how many of its rows are handed out."""

    def __init__(self, node: StreamRebatch, parent: DatasetIterator[Any]) -> None:
        super().__init__(parent)
        self._node = node
        self._handed = (parent.get_state(), 0)  # the state
        self._before = self._handed[0]
        self._batch: Any = None
        self._rows = 0
        self._used = 0
        self._pieces: list[Any] = []
        self._missing = node.batch_size
        self._skip = 0  # rows of the first batch that were handed out before the state was taken

    def __next__(self) -> Any:
        if self._closed:
            raise closed_error(self._node.describe())
        try:
            batch, handed = self._next_output()
        except BaseException as error:
            if is_interrupt(error):
                self.set_state(self.get_state())
            raise
        self._handed = handed
        return batch

    def _next_output(self) -> tuple[Any, tuple[dict[str, Any], int]]:
        """Returns the next batch, and the state after it."""
        while self._missing:
            if self._used == self._rows:
                try:
                    self._next_batch()
                except StopIteration:
                    self._before = self._parent.get_state()
                    if not self._pieces or self._node.drop_remainder:
                        self._begin_output()
                        raise
                    break
                continue
            take = min(self._missing, self._rows - self._used)
            self._pieces.append(self._cut(take))
            self._used += take
            self._missing -= take
        pieces, handed = self._pieces, (self._before, self._used)
        self._begin_output()
        try:
            return _join(pieces), handed
        except Exception:
            self._handed = handed
            raise

    def _begin_output(self) -> None:
        self._pieces, self._missing = [], self._node.batch_size

    def _next_batch(self) -> None:
        before = self._parent.get_state()
        batch = next(self._parent)
        rows = _rows_of(batch)
        skip, self._skip = self._skip, 0
        self._before, self._batch, self._rows, self._used = before, batch, rows, min(skip, rows)

    def _cut(self, take: int) -> Any:
        if take == self._rows:
            return self._batch
        start, stop = self._used, self._used + take
        return trees.map_leaves(lambda leaf: leaf[start:stop], self._batch)

    def get_state(self) -> dict[str, Any]:
        before, used = self._handed
        return {"parent": before, "batch_idx": used}

    def set_state(self, state: dict[str, Any]) -> None:
        before, used = field(state, "parent", dict), count(state, "batch_idx")
        self._parent.set_state(before)
        self._handed, self._before, self._skip = (before, used), before, used
        self._batch, self._rows, self._used = None, 0, 0
        self._begin_output()
