"""Nodes with random access whose elements each depend on one element: map, random_map, map_with_index, filter."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from grain._src.frozen import frozen
from grain._src.indexing.permutation import IndexArray
from grain._src.nodes.base import ElementNode, MapNode

if TYPE_CHECKING:
    from grain._src.indexing.rng import RngPool


@frozen
class Map(ElementNode):
    """A function of each element; holes stay holes."""

    name = "map"
    parent: MapNode
    function: Callable[[Any], Any]

    def get(self, index: int) -> Any:
        element = self.parent.get(index)
        return None if element is None else self.function(element)

    def stream(self, indices: IndexArray) -> Iterator[Any]:
        elements = self.parent.stream(indices)
        return map(self.function, elements) if self.parent.dense else self._skipping_holes(elements)

    def _skipping_holes(self, elements: Iterator[Any]) -> Iterator[Any]:
        function = self.function
        for element in elements:
            yield None if element is None else function(element)


@frozen
class MapWithIndex(ElementNode):
    """A function of each element and its index."""

    name = "map_with_index"
    parent: MapNode
    function: Callable[[int, Any], Any]

    def get(self, index: int) -> Any:
        element = self.parent.get(index)
        return None if element is None else self.function(index, element)

    def stream(self, indices: IndexArray) -> Iterator[Any]:
        elements, numbers = self.parent.stream(indices), indices.tolist()
        return map(self.function, numbers, elements) if self.parent.dense else self._skipping_holes(numbers, elements)

    def _skipping_holes(self, numbers: list[int], elements: Iterator[Any]) -> Iterator[Any]:
        function = self.function
        for index, element in zip(numbers, elements, strict=True):
            yield None if element is None else function(index, element)


@frozen
class RandomMap(ElementNode):
    """A function of each element and a random generator of its own."""

    name = "random_map"
    parent: MapNode
    function: Callable[..., Any]
    seed: int

    @cached_property
    def _rngs(self) -> "RngPool":
        from grain._src.indexing.rng import RngPool

        return RngPool(self.seed)

    def get(self, index: int) -> Any:
        element = self.parent.get(index)
        return None if element is None else self._rngs.call(self.function, element, index)

    def stream(self, indices: IndexArray) -> Iterator[Any]:
        return self._rngs.map(self.function, self.parent.stream(indices), indices.tolist())


@frozen
class Filter(ElementNode):
    """The elements for which a function says yes; holes for the others."""

    name = "filter"
    parent: MapNode
    function: Callable[[Any], bool]

    @property
    def sparse(self) -> bool:
        return True

    def get(self, index: int) -> Any:
        element = self.parent.get(index)
        return element if element is not None and self.function(element) else None

    def stream(self, indices: IndexArray) -> Iterator[Any]:
        function = self.function
        for element in self.parent.stream(indices):
            yield element if element is not None and function(element) else None
