"""Batches: consecutive elements combined into one, with random access and in a stream."""

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from grain._src import trees
from grain._src.frozen import frozen
from grain._src.indexing.permutation import IndexArray
from grain._src.nodes import memory, reading
from grain._src.nodes.base import EarlyStop, MapNode, Node
from grain._src.nodes.row_batch import RowBatch
from grain._src.nodes.stream import DatasetIterator, StreamNode, is_interrupt

BatchFn = Callable[[Sequence[Any]], Any]
Pull = Callable[[int], list[Any]]

_MOST_REWOUND = 16  # iterators; the states of more, of a large mixture, would take time for every batch


def combine(batch_fn: BatchFn | None, elements: list[Any]) -> Any:
    """Returns the batch of `elements`."""
    return trees.stack(elements, memory.allocator()) if batch_fn is None else batch_fn(elements)


class Gathering:
    """Takes elements and makes batches of them, row by row where they are large."""

    def __init__(self, pull: Pull, batch_fn: BatchFn | None) -> None:
        self._pull = pull
        self._batch_fn = batch_fn
        self._large = batch_fn is None  # until the first elements turn out to be small

    def take(self, count: int) -> tuple[int, Callable[[], Any]]:
        """Takes the next `count` elements, fewer at the end; returns how many they are, and what makes their batch."""
        run: list[Any] = []
        if self._large:
            rows, run = self._take_rows(count)
            if rows is not None:
                return rows.count, functools.partial(rows.finish, memory.allocator())
        if len(run) < count:
            run += self._pull(count - len(run))
        return len(run), functools.partial(combine, self._batch_fn, run)

    def _take_rows(self, count: int) -> tuple[RowBatch | None, list[Any]]:
        """Takes large elements that are alike; if they are not, returns those that it has taken."""
        run = self._pull(1)
        rows = RowBatch.begin(run[0], count, memory.allocator()) if run else None
        self._large = rows is not None
        while rows is not None:
            if not rows.add(run[0]):
                return None, rows.elements() + run
            run.clear()  # before the next one is made, which takes its memory
            if rows.count == count or not (run := self._pull(1)):
                break
        return rows, run


@frozen
class Batch(MapNode):
    """Batches of a dataset with random access; no batch crosses an epoch."""

    name = "batch"
    parent: MapNode
    batch_size: int
    drop_remainder: bool = False
    batch_fn: BatchFn | None = None

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @property
    def length(self) -> int:
        full, rest = divmod(self.parent.length, self.batch_size)
        return full if self.drop_remainder or not rest else full + 1

    @property
    def width(self) -> int:
        return self.batch_size * self.parent.width

    def _run(self, index: int) -> range:
        """The parent's indices that make up batch `index`."""
        self.check_not_empty(index)
        epoch, number = divmod(index, self.length)
        start = number * self.batch_size
        base = epoch * self.parent.length
        return range(base + start, base + min(start + self.batch_size, self.parent.length))

    def get(self, index: int) -> Any:
        run = self._run(index)
        if run.stop > sys.maxsize:  # beyond what arrays of indices can hold
            return combine(self.batch_fn, [self.parent.get(at) for at in run])
        return next(self._combine_runs(np.arange(run.start, run.stop), [len(run)]))

    def stream(self, indices: IndexArray) -> Iterator[Any]:
        if not len(indices):
            return iter(())
        self.check_not_empty(int(indices[0]))
        epochs, numbers = np.divmod(indices, self.length)
        within = numbers * self.batch_size
        lengths = np.minimum(self.batch_size, self.parent.length - within)
        starts = within + epochs * self.parent.length
        offsets = np.arange(self.batch_size)
        expanded = (starts[:, None] + offsets)[offsets < lengths[:, None]]
        return self._combine_runs(expanded, lengths.tolist())

    def _combine_runs(self, indices: IndexArray, lengths: list[int]) -> Iterator[Any]:
        resolved = self.parent.resolve(indices) if self.batch_fn is None else None
        if resolved is not None:
            source, keys = resolved
            at = 0
            for length in lengths:
                yield source.gather(keys[at : at + length])
                at += length
            return
        elements = reading.stream(self.parent, indices)
        gathering = Gathering(lambda count: list(islice(elements, count)), self.batch_fn)
        for length in lengths:
            taken, finish = gathering.take(length)
            if taken < length:
                raise EarlyStop
            batch = finish()
            del finish  # the next elements take the memory of these, while it is in the cache
            yield batch

    def inputs(self, index: int) -> list[tuple[MapNode, int]]:
        return [(self.parent, at) for at in self._run(index)]

    @property
    def dense(self) -> bool:
        return self.batch_fn is None and self.parent.dense


@frozen
class StreamBatch(StreamNode):
    """Batches of a stream."""

    name = "batch"
    parent: Node
    batch_size: int
    drop_remainder: bool = False
    batch_fn: BatchFn | None = None

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    def build(self, parents: Sequence[DatasetIterator[Any]]) -> DatasetIterator[Any]:
        return BatchIterator(self, parents[0])


def _has_light_state(iterators: Sequence[DatasetIterator[Any]], most: int) -> bool:
    """Whether these, and what they read from, are ours, and few."""
    if len(iterators) > most:
        return False
    ours = all(type(iterator).__module__.startswith("grain.") for iterator in iterators)
    above = [parent for iterator in iterators for parent in iterator._parents]
    return ours and (not above or _has_light_state(above, most - len(iterators)))


class BatchIterator(DatasetIterator[Any]):
    """Its state is its parent's: a batch is complete when it is handed out."""

    def __init__(self, node: StreamBatch, parent: DatasetIterator[Any]) -> None:
        super().__init__(parent)
        self._node = node
        self._gathering = Gathering(parent.pull, node.batch_fn)
        self._pull_batch = parent.pull_batch
        # After Ctrl-C it goes back to the beginning of the batch.
        self._state_before = parent.get_state if _has_light_state([parent], _MOST_REWOUND) else lambda: None

    def __next__(self) -> Any:
        before = self._state_before()
        node = self._node
        try:
            made = self._pull_batch(node.batch_size) if node.batch_fn is None and memory.allocator() is None else None
            taken, finish = self._gathering.take(node.batch_size) if made is None else (made[0], lambda: made[1])
            if not taken or (node.drop_remainder and taken < node.batch_size):
                raise StopIteration
            return finish()
        except BaseException as error:
            if before is not None and is_interrupt(error):
                self._parent.set_state(before)
            raise

    def get_state(self) -> dict[str, Any]:
        return self._parent.get_state()

    def set_state(self, state: dict[str, Any]) -> None:
        self._parent.set_state(state)
