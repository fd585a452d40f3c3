"""What every node is, and what a node with random access answers."""

import abc
import functools
import os
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from grain._src.frozen import Frozen
from grain._src.indexing.permutation import IndexArray


class EarlyStop(RuntimeError):
    """A user's function raised StopIteration, which would end the pipeline as if there were no more elements."""

    def __init__(self) -> None:
        super().__init__(
            "a function of the pipeline raised StopIteration; raise another exception, or filter the element out"
        )


class Node(Frozen, abc.ABC):
    """One transformation of a pipeline: its parents and its parameters, frozen."""

    name: ClassVar[str]
    transparent: ClassVar[bool] = False  # whether it gives its parent's elements, so that a checkpoint need not know it

    @property
    @abc.abstractmethod
    def parents(self) -> "tuple[Node, ...]":
        """The nodes whose elements this one transforms."""

    def __repr__(self) -> str:
        return self.describe()

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """The user's functions that this node calls."""
        return tuple(value for _, value in self._parameters() if callable(value))

    def state_before(self, state: dict[str, Any]) -> dict[str, Any] | None:
        """Returns the state right before the element after which the state was `state`; None where it cannot be told."""
        return self.parents[0].state_before(state) if self.transparent else None

    def describe(self) -> str:
        """Returns the transformation as a user would write it."""
        shown = []
        for field, value in self._parameters():
            if field.name not in ("parent", "parents") and field.repr and value is not field.default:
                shown.append(f"{field.name}={describe_value(value)}")
        return f"{self.name}({', '.join(shown)})"


def describe_value(value: Any) -> str:
    """Returns a parameter as short text without addresses."""
    if isinstance(value, functools.partial):
        return f"partial({describe_value(value.func)})"
    owner = getattr(value, "__self__", None)
    if owner is not None and not isinstance(owner, type(functools)) and not isinstance(owner, type):
        return describe_value(owner)
    if callable(value) and not hasattr(value, "__dataclass_fields__"):
        name = getattr(value, "__qualname__", type(value).__name__)
        code = getattr(value, "__code__", None)
        if code is not None and code.co_name == "<lambda>":
            return f"<lambda at {os.path.basename(code.co_filename)}:{code.co_firstlineno}>"
        return str(name).replace("<locals>.", "")
    plain: Any = object.__repr__
    text = f"{type(value).__name__}()" if type(value).__repr__ is plain else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


class MapNode(Node):
    """A node with random access: an element is a pure function of its index.

    An index may lie past the end: epoch = index // length, and random transformations use the full index.
    """

    @property
    @abc.abstractmethod
    def length(self) -> int:
        """The number of elements of one epoch."""

    def state_before(self, state: dict[str, Any]) -> dict[str, Any] | None:
        return {"next_index": state["next_index"] - 1}

    @abc.abstractmethod
    def get(self, index: int) -> Any:
        """Returns one element; None is a hole."""

    @abc.abstractmethod
    def stream(self, indices: IndexArray) -> Iterator[Any]:
        """Yields the elements at `indices` in that order, each computed when it is pulled."""

    @abc.abstractmethod
    def inputs(self, index: int) -> "list[tuple[MapNode, int]]":
        """Returns which elements of which parents the element at `index` is made of, without reading data."""

    def resolve(self, indices: IndexArray) -> "tuple[MapNode, IndexArray] | None":
        """Returns the source and the keys in it, if elements come from it unchanged and it can stack them at once."""
        return None

    def gather(self, keys: IndexArray) -> Any:
        """Returns the elements at `keys` stacked; only for what `resolve` returned."""
        raise NotImplementedError

    def check_not_empty(self, index: int) -> None:
        """Says that there is no element to take, wherever its index comes from."""
        if not self.length:
            raise IndexError(f"cannot take element {index} of an empty dataset")

    @property
    def width(self) -> int:
        """How many records one element is made of, about."""
        return max((parent.width for parent in self.parents if isinstance(parent, MapNode)), default=1)

    @property
    def breadth(self) -> int:
        """How many datasets the elements are taken from."""
        return max((parent.breadth for parent in self.parents if isinstance(parent, MapNode)), default=1)

    @property
    def eager(self) -> bool:
        """Whether `stream` reads the records of all indices at once, before the first is pulled."""
        return any(parent.eager for parent in self.parents if isinstance(parent, MapNode))

    @property
    def dense(self) -> bool:
        """Whether no element can be a hole."""
        return False

    @property
    def sparse(self) -> bool:
        """Whether some transformation is there to make holes."""
        return any(parent.sparse for parent in self.parents if isinstance(parent, MapNode))

    @property
    def filtered(self) -> bool:
        """Whether there are such transformations above, also where their holes have become parts of elements."""
        return self.sparse or any(parent.filtered for parent in self.parents if isinstance(parent, MapNode))


class IndexNode(MapNode):
    """A node that only says which elements of its one parent come in which order."""

    parent: MapNode

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        return ()

    @abc.abstractmethod
    def rewrite(self, index: int) -> int:
        """Returns the parent's index for `index`."""

    @abc.abstractmethod
    def rewrite_array(self, indices: IndexArray) -> IndexArray:
        """`rewrite` for each of `indices`."""

    def get(self, index: int) -> Any:
        try:
            at = self.rewrite(index)
        except ZeroDivisionError:
            self.check_not_empty(index)
            raise
        return self.parent.get(at)

    def stream(self, indices: IndexArray) -> Iterator[Any]:
        return self.parent.stream(self._rewrite_all(indices))

    def inputs(self, index: int) -> list[tuple[MapNode, int]]:
        return [(self.parent, self.rewrite(index))]

    def resolve(self, indices: IndexArray) -> tuple[MapNode, IndexArray] | None:
        return self.parent.resolve(self._rewrite_all(indices))

    def _rewrite_all(self, indices: IndexArray) -> IndexArray:
        if not len(indices):
            return indices
        self.check_not_empty(int(indices[0]))
        return self.rewrite_array(indices)

    @property
    def dense(self) -> bool:
        return self.parent.dense


class ElementNode(MapNode):
    """A node that computes each element from the element of its one parent at the same index."""

    parent: MapNode

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @property
    def length(self) -> int:
        return self.parent.length

    def inputs(self, index: int) -> list[tuple[MapNode, int]]:
        return [(self.parent, index)]


class RoutingNode(MapNode):
    """A node whose every element is one of the elements of one of its parents."""

    @property
    @abc.abstractmethod
    def parents(self) -> tuple[MapNode, ...]:
        """The datasets to choose from."""

    @abc.abstractmethod
    def route(self, index: int) -> tuple[int, int]:
        """Returns (parent, index within it) for `index`."""

    @abc.abstractmethod
    def route_array(self, indices: IndexArray) -> tuple[Any, IndexArray]:
        """`route` for each of `indices`."""

    def get(self, index: int) -> Any:
        component, at = self.route(index)
        return self.parents[component].get(at)

    def stream(self, indices: IndexArray) -> Iterator[Any]:
        components, ats = self.route_array(indices)
        parents = self.parents
        by_component = components.argsort(kind="stable")
        ends = np.bincount(components, minlength=len(parents)).cumsum().tolist()
        streams, start = [], 0
        for parent, end in zip(parents, ends, strict=True):
            streams.append(parent.stream(ats[by_component[start:end]]) if end > start else iter(()))
            start = end
        return map(next, map(streams.__getitem__, components.tolist()))

    def inputs(self, index: int) -> list[tuple[MapNode, int]]:
        component, at = self.route(index)
        return [(self.parents[component], at)]

    @property
    def breadth(self) -> int:
        return sum(parent.breadth for parent in self.parents)

    @property
    def dense(self) -> bool:
        return all(parent.dense for parent in self.parents)
