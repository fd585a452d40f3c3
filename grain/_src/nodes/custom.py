"""Users' own datasets as nodes, so that they work everywhere in a pipeline."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from grain._src.frozen import frozen
from grain._src.indexing.permutation import IndexArray
from grain._src.nodes.base import MapNode, Node
from grain._src.nodes.stream import DatasetIterator, StreamNode


@frozen
class CustomMap(MapNode):
    """A user's class with `__len__` and `__getitem__`."""

    __eq__ = object.__eq__  # what it holds may not be comparable
    __hash__ = object.__hash__

    name = "custom"
    dataset: Any
    above: tuple[Node, ...]

    @property
    def parents(self) -> tuple[Node, ...]:
        return self.above

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        return (type(self.dataset).__getitem__,)

    def describe(self) -> str:
        return type(self.dataset).__name__

    @property
    def length(self) -> int:
        return len(self.dataset)

    def get(self, index: int) -> Any:
        return self.dataset[index]

    def stream(self, indices: IndexArray) -> Iterator[Any]:
        return map(self.dataset.__getitem__, indices.tolist())

    def inputs(self, index: int) -> list[tuple[MapNode, int]]:
        return []


@frozen
class CustomStream(StreamNode):
    """A user's class with `__iter__`; it starts its parents itself."""

    __eq__ = object.__eq__  # what it holds may not be comparable
    __hash__ = object.__hash__

    name = "custom"
    dataset: Any
    above: tuple[Node, ...]

    @property
    def parents(self) -> tuple[Node, ...]:
        return self.above

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        return ()

    def describe(self) -> str:
        return type(self.dataset).__name__

    def build(self, parents: Sequence[DatasetIterator[Any]]) -> DatasetIterator[Any]:
        iterator = self.dataset.__iter__()
        if not isinstance(iterator, DatasetIterator):
            raise TypeError(
                f"{type(self.dataset).__name__}.__iter__ must return a grain.DatasetIterator, got {type(iterator).__name__}. "
                "Subclass grain.DatasetIterator with __next__, get_state and set_state."
            )
        return iterator
