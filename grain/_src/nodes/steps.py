"""Elementwise steps of a stream: map, filter, random_map, map_with_index. A run of them is one iterator."""

import abc
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from grain._src.frozen import frozen
from grain._src.nodes.base import Node
from grain._src.nodes.blame import annotate_steps
from grain._src.nodes.counts import count
from grain._src.nodes.drops import WINDOW, Drops
from grain._src.nodes.stream import DatasetIterator, StreamNode, closed_elements, field

if TYPE_CHECKING:
    from grain._src.indexing.rng import RngPool


class Root(Protocol):
    """What a run of steps reads from, as far as numbering goes."""

    record_position: int  # the number of the next element; one less is that of the element just read


class StepRun(abc.ABC):
    """One step at work: a C-level iterator or a generator over the elements, and its part of the state."""

    @abc.abstractmethod
    def attach(self, elements: Iterator[Any]) -> Iterator[Any]:
        """Returns the transformed elements; nothing is evaluated before it is pulled."""

    def wrap(self, state: dict[str, Any]) -> dict[str, Any]:
        """Adds this step's part to the state of what is above."""
        return state

    def unwrap(self, state: dict[str, Any]) -> dict[str, Any]:
        """Takes this step's part out of a state; nothing changes before `restore`."""
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Goes to this step's part of a state."""


class Step(StreamNode):
    """A node each of whose outputs depends on one input."""

    parent: Node

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    def state_before(self, state: dict[str, Any]) -> dict[str, Any] | None:
        return self.parent.state_before(state)

    @abc.abstractmethod
    def start(self, root: Root) -> StepRun:
        """Returns the step at work; `root` is what the run of steps reads from."""

    def build(self, parents: Sequence[DatasetIterator[Any]]) -> DatasetIterator[Any]:
        (parent,) = parents
        # A mark between two steps, such as `mp_prefetch`, separates them also when it has nothing to do.
        if type(parent) is ElementwiseIterator and parent.steps[-1] is self.parent:
            return ElementwiseIterator(parent._parent, [*parent.steps, self])
        return ElementwiseIterator(parent, [self])


class _Numbered:
    """Numbers the elements of an iterator that has no positions of its own."""

    def __init__(self, elements: Iterator[Any]) -> None:
        self._elements = elements
        self.record_position = 0

    def __iter__(self) -> "_Numbered":
        return self

    def __next__(self) -> Any:
        element = next(self._elements)
        self.record_position += 1
        return element


class ElementwiseIterator(DatasetIterator[Any]):
    """A run of elementwise steps over one parent, fused into one chain of iterators."""

    def __init__(self, parent: DatasetIterator[Any], steps: Sequence[Step]) -> None:
        super().__init__(parent)
        self.steps = tuple(steps)
        self._root = parent if hasattr(parent, "record_position") else _Numbered(parent)
        self._runs = [step.start(self._root) for step in steps]
        self._elements = self._chain()

    def _chain(self) -> Iterator[Any]:
        if self._closed:
            return closed_elements(self.steps[-1].describe())
        elements: Iterator[Any] = (
            self._root if any(isinstance(run, _RandomMapRun) for run in self._runs) else self._parent
        )
        for run in self._runs:
            elements = run.attach(elements)
        return elements

    def __next__(self) -> Any:
        try:
            for element in self._elements:
                return element
        except BaseException as error:
            self._fail(error)
            raise
        raise StopIteration

    def pull(self, count: int) -> list[Any]:
        try:
            return list(islice(self._elements, count))
        except BaseException as error:
            self._fail(error)
            raise

    def __getattr__(self, name: str) -> Any:
        if name in ("record_position", "record_source"):  # where what is above has positions, so has this
            return getattr(self._parent, name)
        raise AttributeError(name)

    def _fail(self, error: BaseException) -> None:
        if not self._closed:
            place = getattr(self._parent, "record_position", None), getattr(self._parent, "record_source", None)
            annotate_steps(error, self.steps, *place)
        self._elements = self._chain()  # an exception ends a generator: go on after the element that failed

    def close(self) -> None:
        super().close()
        self._elements = self._chain()

    def get_state(self) -> dict[str, Any]:
        state = self._parent.get_state()
        for run in self._runs:
            state = run.wrap(state)
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        states = []
        for run in reversed(self._runs):
            states.append(state)
            state = run.unwrap(state)
        self._parent.set_state(state)
        for run, own in zip(reversed(self._runs), states, strict=True):
            run.restore(own)
        self._elements = self._chain()


@frozen
class StreamMap(Step):
    """A function of each element; None passes through."""

    name = "map"
    parent: Node
    function: Callable[[Any], Any]

    def start(self, root: Root) -> StepRun:
        return _MapRun(self.function)


class _MapRun(StepRun):
    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def attach(self, elements: Iterator[Any]) -> Iterator[Any]:
        function = self._function
        for element in elements:
            yield None if element is None else function(element)


@frozen
class StreamFilter(Step):
    """The elements for which a function says yes."""

    name = "filter"
    parent: Node
    function: Callable[[Any], bool]

    def start(self, root: Root) -> StepRun:
        return _FilterRun(self.function, Drops(f"`{self.describe()}`"))


class _FilterRun(StepRun):
    def __init__(self, function: Callable[[Any], bool], drops: Drops) -> None:
        self._function = function
        self._drops = drops

    def attach(self, elements: Iterator[Any]) -> Iterator[Any]:
        function, drops = self._function, self._drops
        drops.restart()
        going = True
        while going:
            dropped = 0
            for element in islice(elements, WINDOW - 1):
                if function(element):
                    yield element
                else:
                    dropped += 1
            going = False
            for element in islice(elements, 1):  # the window is judged before its last element is handed out
                going = True
                kept = function(element)
                drops.add(WINDOW, dropped if kept else dropped + 1)
                if kept:
                    yield element


def _is_element(element: Any) -> bool:
    return element is not None


@frozen
class StreamWithoutHoles(StreamFilter):
    """The elements without the holes that a dataset with random access has left."""

    function: Callable[[Any], bool] = _is_element

    def describe(self) -> str:
        return self.parent.parents[0].describe()


@frozen
class StreamMapWithIndex(Step):
    """A function of each element and its running number."""

    name = "map_with_index"
    parent: Node
    function: Callable[[int, Any], Any]

    def state_before(self, state: dict[str, Any]) -> dict[str, Any] | None:
        above = self.parent.state_before(state["parent"])
        return None if above is None else {"parent": above, "counter": state["counter"] - 1}

    def start(self, root: Root) -> StepRun:
        return _MapWithIndexRun(self.function)


class _MapWithIndexRun(StepRun):
    def __init__(self, function: Callable[[int, Any], Any]) -> None:
        self.function = function
        self.count = 0

    def attach(self, elements: Iterator[Any]) -> Iterator[Any]:
        function = self.function
        for element in elements:
            index = self.count
            self.count = index + 1
            yield None if element is None else function(index, element)

    def wrap(self, state: dict[str, Any]) -> dict[str, Any]:
        return {"parent": state, "counter": self.count}

    def unwrap(self, state: dict[str, Any]) -> dict[str, Any]:
        count(state, "counter")
        return field(state, "parent", dict)  # type: ignore[no-any-return]

    def restore(self, state: dict[str, Any]) -> None:
        self.count = state["counter"]


@frozen
class StreamRandomMap(Step):
    """A function of each element and a random generator of its own.

    The generator belongs to the record: it is that of the record's number before this run of steps, whatever a filter
    among them dropped, so that every output still depends on one input only.
    """

    name = "random_map"
    parent: Node
    function: Callable[..., Any]
    seed: int

    def state_before(self, state: dict[str, Any]) -> dict[str, Any] | None:
        above = self.parent.state_before(state["parent"])
        return None if above is None else {"parent": above, "index_for_rng": state["index_for_rng"] - 1}

    def start(self, root: Root) -> StepRun:
        from grain._src.indexing.rng import RngPool

        return _RandomMapRun(self.function, RngPool(self.seed), root)


class _RandomMapRun(StepRun):
    def __init__(self, function: Callable[..., Any], rngs: "RngPool", root: Any) -> None:
        self.function = function
        self.rngs = rngs
        self.root = root

    def attach(self, elements: Iterator[Any]) -> Iterator[Any]:
        root = self.root
        return self.rngs.map(self.function, elements, iter(lambda: root.record_position - 1, None))

    def wrap(self, state: dict[str, Any]) -> dict[str, Any]:
        return {"parent": state, "index_for_rng": self.root.record_position}

    def unwrap(self, state: dict[str, Any]) -> dict[str, Any]:
        count(state, "index_for_rng")
        return field(state, "parent", dict)  # type: ignore[no-any-return]

    def restore(self, state: dict[str, Any]) -> None:
        if isinstance(self.root, _Numbered):
            self.root.record_position = state["index_for_rng"]


@frozen
class StreamSeed(Step):
    """The same elements; random transformations after it take their seeds from it."""

    name = "seed"
    transparent = True  # what it changes are the seeds of other nodes, which have them
    parent: Node
    seed: int

    def start(self, root: Root) -> StepRun:
        return _SameRun()


class _SameRun(StepRun):
    def attach(self, elements: Iterator[Any]) -> Iterator[Any]:
        return elements
