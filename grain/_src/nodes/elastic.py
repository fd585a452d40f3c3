"""The part of each global batch that one host gets: a batch of records that all hosts take together, in one order.

Record number p + k of the batch that begins at record p goes to host k modulo the number of hosts. The position is
counted in records of the whole, so another number of hosts, or another batch size, goes on with the same sequence.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from grain._src.frozen import frozen
from grain._src.nodes import context, elementwise, steps
from grain._src.nodes.base import MapNode, Node
from grain._src.nodes.batch import Batch, BatchFn, StreamBatch, combine
from grain._src.nodes.counts import count
from grain._src.nodes.order import Slice
from grain._src.nodes.prefetch import ProcessPrefetch, ThreadPrefetch
from grain._src.nodes.stream import DatasetIterator, SelfStarting, StreamNode, is_interrupt
from grain._src.nodes.to_iter import ToIter, WithOptions
from grain._src.options import ReadOptions

POSITION = "global_next_index"


def _tuning() -> Any:
    """A field that does not change the global sequence, so that a checkpoint need not know it."""
    return dataclasses.field(metadata={"tuning": True})


@frozen
class GlobalBatch(SelfStarting):
    """One host's records of global batches of a dataset with random access; it reads no others.

    Where the batches begin is known only when a state is given.
    """

    name = "global_batch"
    parent: MapNode
    batch_size: int = _tuning()
    shard_index: int = _tuning()
    shard_count: int = _tuning()
    read_options: ReadOptions = dataclasses.field(default_factory=ReadOptions)
    batch_fn: BatchFn | None = None

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    def start(self, start: Callable[[Node], DatasetIterator[Any]]) -> DatasetIterator[Any]:
        return GlobalBatchIterator(self, start)

    def local(self, start: int) -> MapNode:
        """Returns this host's part of the whole batches from record `start` on."""
        whole = max(0, self.parent.length - start) // self.batch_size * self.batch_size
        mine = Slice(self.parent, start + self.shard_index, start + whole, self.shard_count)
        return Batch(mine, self.batch_size // self.shard_count, True, self.batch_fn)


class GlobalBatchIterator(DatasetIterator[Any]):
    """Its state: how many records all hosts together have taken.

    Args:
      node: what to run.
      iterate: starts a pipeline.
    """

    def __init__(self, node: GlobalBatch, iterate: Callable[[Node], DatasetIterator[Any]]) -> None:
        self._node = node
        self._iterate = iterate
        self._context = context.current()
        super().__init__(self._begin(0))

    def _begin(self, start: int) -> DatasetIterator[Any]:
        self._start = start
        with context.using(self._context):
            return self._iterate(ToIter(self._node.local(start), self._node.read_options))

    def __next__(self) -> Any:
        for element in self._parent:  # as `without_calls` has it
            return element
        raise StopIteration

    def pull(self, count: int) -> list[Any]:
        return self._parent.pull(count)

    def get_state(self) -> dict[str, Any]:
        return {POSITION: self._start + self._parent.get_state()["next_index"] * self._node.batch_size}

    def set_state(self, state: dict[str, Any]) -> None:
        position = position_in(state)
        batches, rest = divmod(position - self._start, self._node.batch_size)
        if batches < 0 or rest:  # batches begin elsewhere now: another batch size was used before
            self._parent.close()
            self._parents = (self._begin(position),)
            if self._closed:
                self._parent.close()
        else:
            self._parent.set_state({"next_index": batches})


@frozen
class ShardedBatch(StreamNode):
    """One host's records of global batches of a stream; every host runs the whole stream."""

    name = "global_batch"
    parent: Node
    batch_size: int = _tuning()
    shard_index: int = _tuning()
    shard_count: int = _tuning()
    batch_fn: BatchFn | None = None

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    def build(self, parents: Sequence[DatasetIterator[Any]]) -> DatasetIterator[Any]:
        return ShardedBatchIterator(self, parents[0])


class ShardedBatchIterator(DatasetIterator[Any]):
    """Its state is the stream's, after the last whole global batch."""

    def __init__(self, node: ShardedBatch, parent: DatasetIterator[Any]) -> None:
        super().__init__(parent)
        self._node = node
        self._end: dict[str, Any] | None = None

    def __next__(self) -> Any:
        node = self._node
        if self._end is None:
            before = self._parent.get_state()
            try:
                elements = self._parent.pull(node.batch_size)
                if len(elements) == node.batch_size:
                    return combine(node.batch_fn, elements[node.shard_index :: node.shard_count])
            except BaseException as error:
                if is_interrupt(error):
                    self._parent.set_state(before)
                raise
            self._end = before  # the rest is not handed out: a smaller batch size may go on with it
        raise StopIteration

    def get_state(self) -> dict[str, Any]:
        state = self._end if self._end is not None else self._parent.get_state()
        return {POSITION: state["next_index"]} if set(state) == {"next_index"} else state

    def set_state(self, state: dict[str, Any]) -> None:
        if isinstance(state, dict) and state.keys() == {POSITION}:
            state = {"next_index": position_in(state)}
        self._parent.set_state(state)
        self._end = None


def position_in(state: Any) -> int:
    """Returns the number of records that all hosts together have taken."""
    return count(state, POSITION)


def shard_global_batch(node: Node, shard_index: int, shard_count: int) -> Node:
    """Returns `node`, which must end in a batch, with that batch taken for a global one."""
    match node:
        case ProcessPrefetch() | ThreadPrefetch() | WithOptions():
            return dataclasses.replace(node, parent=shard_global_batch(node.parent, shard_index, shard_count))
        case Batch():
            return _of_records(node, node.parent, ReadOptions(), shard_index, shard_count)
        case ToIter(parent=Batch() as batch):
            return _of_records(batch, batch.parent, node.read_options, shard_index, shard_count)
        case StreamBatch():
            lifted = _lift(node.parent)
            if lifted is not None:
                return _of_records(node, *lifted, shard_index, shard_count)
            _check_divisible(node.batch_size, shard_count)
            return ShardedBatch(node.parent, node.batch_size, shard_index, shard_count, node.batch_fn)
    raise ValueError(
        f"the pipeline must end in `batch(global_batch_size)`, but it ends in `{node.describe()}`. Put what comes after "
        "the batch behind the sharding."
    )


def _of_records(
    batch: Batch | StreamBatch, records: MapNode, options: ReadOptions, shard_index: int, shard_count: int
) -> GlobalBatch:
    _check_divisible(batch.batch_size, shard_count)
    return GlobalBatch(records, batch.batch_size, shard_index, shard_count, options, batch.batch_fn)


def _check_divisible(batch_size: int, shard_count: int) -> None:
    if batch_size % shard_count:
        raise ValueError(
            f"the global batch size must be divisible by the number of shards, got {batch_size} and {shard_count}"
        )


def _lift(node: Node) -> tuple[MapNode, ReadOptions] | None:
    """Returns a stream that numbers and drops nothing as a dataset with random access, so that a host reads its part only."""
    if isinstance(node, ToIter):
        return None if node.parent.sparse or node.allow_nones else (node.parent, node.read_options)
    lifted = _lift(node.parent) if isinstance(node, steps.Step) else None
    if lifted is None:
        return None
    parent, options = lifted
    match node:
        case steps.StreamSeed():
            return lifted
        case steps.StreamMap():
            return elementwise.Map(parent, node.function), options
        case steps.StreamRandomMap():
            return elementwise.RandomMap(parent, node.function, node.seed), options
        case steps.StreamMapWithIndex():
            return elementwise.MapWithIndex(parent, node.function), options
    return None


def is_shared(node: Node) -> bool:
    """Whether the state of a pipeline is the same on every host."""
    while node.transparent or isinstance(node, steps.StreamMap):
        (node,) = node.parents
    return isinstance(node, GlobalBatch | ShardedBatch)
