"""A user's operation in a loader: any function from an iterator of records to another one, with an exact state."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from grain._src.errors import StateError
from grain._src.frozen import frozen
from grain._src.nodes.base import Node
from grain._src.nodes.counts import count
from grain._src.nodes.stream import DatasetIterator, StreamNode, field
from grain._src.records import Record


@frozen
class StreamOperation(StreamNode):
    """What an operation makes of the records.

    Args:
      parent: gives records.
      operation: the function.
      holds_last: whether, whenever it gives a record, it holds just the last that it took, as packing does.
    """

    name = "operation"
    parent: Node
    operation: Callable[[Iterator[Record[Any]]], Iterator[Record[Any]]]
    holds_last: bool = False

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    def build(self, parents: Sequence[DatasetIterator[Any]]) -> DatasetIterator[Any]:
        return OperationIterator(self, parents[0])


class OperationIterator(DatasetIterator[Any]):
    """An operation is opaque: it may hold records back.

    When it has given as many records as it took, it is taken to hold none; the state is then its parent's. Otherwise the
    state is where the parent was at the last such point and how many records were given since, to be run again.
    """

    def __init__(self, node: StreamOperation, parent: DatasetIterator[Any]) -> None:
        super().__init__(parent)
        self._node = node
        self._restart()

    def _restart(self) -> None:
        self._before: dict[str, Any] = {}
        self._taken = 0
        self._given = 0
        self._drained = False
        self._outputs: Iterator[Any] | None = None

    def _records(self) -> Iterator[Any]:
        while True:
            if self._taken == self._given or self._node.holds_last:
                self._before = self._parent.get_state()
                self._taken = self._given = 0
            try:
                record = next(self._parent)
            except StopIteration:
                self._drained = True
                return
            self._taken += 1
            yield record

    def __next__(self) -> Any:
        try:
            if self._outputs is None:
                self._outputs = iter(self._node.operation(self._records()))
            for record in self._outputs:
                self._given += 1
                return self._checked(record)
        except BaseException:
            self._restart()  # an exception ends a generator: go on after the record that failed
            raise
        self._taken = self._given = 0
        raise StopIteration

    def _checked(self, record: Any) -> Record[Any]:
        if not isinstance(record, Record):
            raise TypeError(
                f"`{self._node.describe()}` must take an iterator of grain.Record and yield grain.Record, "
                f"got {type(record).__name__}. For a function of elements use grain.transforms.Map"
            )
        return record

    def get_state(self) -> dict[str, Any]:
        if self._node.holds_last:
            return self._before if self._taken and not self._drained else self._parent.get_state()
        if self._taken == self._given:
            return self._parent.get_state()
        return {"parent": self._before, "records_given": self._given}

    def set_state(self, state: dict[str, Any]) -> None:
        held_back = isinstance(state, dict) and "records_given" in state
        given = count(state, "records_given") if held_back else 0
        here = self.get_state()
        self._parent.set_state(field(state, "parent", dict) if held_back else state)
        self._restart()
        if sum(1 for _ in islice(self, given)) < given:
            self.set_state(here)
            raise StateError(f"the state says that {self._node.describe()} gave {given} records, it gave fewer")
