"""Batches: consecutive elements combined into one, with random access and in a stream."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from grain._src import trees
from grain._src.indexing.permutation import IndexArray
from grain._src.nodes import memory, reading
from grain._src.nodes.base import EarlyStop, MapNode, Node
from grain._src.nodes.stream import DatasetIterator, StreamNode

BatchFn = Callable[[Sequence[Any]], Any]


def combine(batch_fn: BatchFn | None, elements: list[Any]) -> Any:
    """Returns the batch of `elements`."""
    return trees.stack(elements, memory.allocator()) if batch_fn is None else batch_fn(elements)


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
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
        if not self.length:
            raise IndexError(f"cannot take batch {index} of an empty dataset")
        epoch, number = divmod(index, self.length)
        start = number * self.batch_size
        base = epoch * self.parent.length
        return range(base + start, base + min(start + self.batch_size, self.parent.length))

    def get(self, index: int) -> Any:
        run = self._run(index)
        return next(self._combine_runs(np.arange(run.start, run.stop), [len(run)]))

    def stream(self, indices: IndexArray) -> Iterator[Any]:
        if not self.length or not len(indices):
            return iter(())
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
        for length in lengths:
            run = list(islice(elements, length))
            if len(run) < length:
                raise EarlyStop
            batch = combine(self.batch_fn, run)
            del run  # the next elements take the memory of these, while it is in the cache
            yield batch

    def inputs(self, index: int) -> list[tuple[MapNode, int]]:
        return [(self.parent, at) for at in self._run(index)]

    @property
    def dense(self) -> bool:
        return self.batch_fn is None and self.parent.dense


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
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


class BatchIterator(DatasetIterator[Any]):
    """Its state is its parent's: a batch is complete when it is handed out."""

    def __init__(self, node: StreamBatch, parent: DatasetIterator[Any]) -> None:
        super().__init__(parent)
        self._node = node

    def __next__(self) -> Any:
        node = self._node
        elements = self._parent.pull(node.batch_size)
        if not elements or (node.drop_remainder and len(elements) < node.batch_size):
            raise StopIteration
        return combine(node.batch_fn, elements)

    def get_state(self) -> dict[str, Any]:
        return self._parent.get_state()

    def set_state(self, state: dict[str, Any]) -> None:
        self._parent.set_state(state)
