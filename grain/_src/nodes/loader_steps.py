"""A loader's elementwise steps: None is an element like any other, and numbers and generators are the record's own."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from grain._src.frozen import frozen
from grain._src.indexing.record_rng import RecordRng
from grain._src.nodes.base import Node
from grain._src.nodes.loader_records import call_random
from grain._src.nodes.loader_source import SampledSource
from grain._src.nodes.steps import Step, StepRun, StreamFilter


@frozen
class LoaderMap(Step):
    """A function of each element."""

    name = "map"
    parent: Node
    function: Callable[[Any], Any]

    def start(self, root: Any) -> StepRun:
        return _Attached(lambda elements: map(self.function, elements))


@frozen
class LoaderFilter(StreamFilter):
    """The elements for which a function says yes."""

    def start(self, root: Any) -> StepRun:
        return _Attached(lambda elements: filter(self.function, elements))


@dataclasses.dataclass(frozen=True, slots=True)
class _Attached(StepRun):
    attached: Callable[[Iterator[Any]], Iterator[Any]]

    def attach(self, elements: Iterator[Any]) -> Iterator[Any]:
        return self.attached(elements)


@frozen
class LoaderMapWithIndex(Step):
    """A function of each record's index and element."""

    name = "map_with_index"
    parent: Node
    function: Callable[[int, Any], Any]
    sampled: SampledSource = dataclasses.field(repr=False)

    def start(self, root: Any) -> StepRun:
        return _Attached(lambda elements: self._numbered(root, elements))

    def _numbered(self, root: Any, elements: Iterator[Any]) -> Iterator[Any]:
        function, index_at = self.function, self.sampled.index_at
        for element in elements:
            yield function(index_at(root.record_position - 1), element)


@frozen
class LoaderRandomMap(Step):
    """A function of each element and its record's own generator, which goes on from one such step to the next."""

    name = "random_map"
    parent: Node
    function: Callable[..., Any]
    sampled: SampledSource = dataclasses.field(repr=False)

    def start(self, root: Any) -> StepRun:
        generator = _generators.get(root)
        if generator is None:
            generator = _generators[root] = _CurrentGenerator(self.sampled)
        return _RandomMapRun(self.function, root, generator)


class _CurrentGenerator:
    """The generator of the record that is under way; made or set when it is first asked for."""

    def __init__(self, sampled: SampledSource) -> None:
        self._sampled = sampled
        self._own = RecordRng(sampled.seed) if sampled.own and sampled.seed is not None else None
        self._position = -1
        self._rng: np.random.Generator | None = None

    def at(self, position: int) -> np.random.Generator | None:
        """Returns the generator of the read number `position`, as far as it has been used for it."""
        if position != self._position:
            self._position = position
            if self._own is not None:
                self._rng = self._own.at(self._sampled.index_at(position))
            elif not self._sampled.own:
                self._rng = self._sampled.metadata_at(position).rng
        return self._rng

    def forget(self) -> None:
        """Begins the next record's numbers anew, even if it is the same record."""
        self._position = -1


# Steps of one run share their records' generators.
_generators: WeakKeyDictionary[Any, _CurrentGenerator] = WeakKeyDictionary()


class _RandomMapRun(StepRun):
    def __init__(self, function: Callable[..., Any], root: Any, generator: _CurrentGenerator) -> None:
        self._function = function
        self._root = root
        self._generator = generator

    def attach(self, elements: Iterator[Any]) -> Iterator[Any]:
        self._generator.forget()
        return self._mapped(elements)

    def _mapped(self, elements: Iterator[Any]) -> Iterator[Any]:
        function, root, at = self._function, self._root, self._generator.at
        for element in elements:
            rng = at(root.record_position - 1)
            yield function(element, rng) if rng is not None else call_random(function, element, None)
