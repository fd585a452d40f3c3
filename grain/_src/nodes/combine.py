"""Nodes that take elements from several datasets: mix, select, concatenate."""

import sys
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from grain._src.frozen import frozen
from grain._src.indexing.mixture import locate, locate_array, mixed_length
from grain._src.indexing.permutation import IndexArray
from grain._src.nodes.base import MapNode, RoutingNode
from grain._src.transforms import DatasetSelectionMap


@frozen
class Mix(RoutingNode):
    """Elements of the parents in proportion to integer weights."""

    name = "mix"
    components: tuple[MapNode, ...]
    weights: tuple[int, ...]

    @property
    def parents(self) -> tuple[MapNode, ...]:
        return self.components

    def describe(self) -> str:
        return f"mix({len(self.components)} datasets, weights={list(self.weights)})"

    @cached_property
    def length(self) -> int:
        return mixed_length([parent.length for parent in self.components], self.weights)

    def route(self, index: int) -> tuple[int, int]:
        return locate(index, self.weights)

    def route_array(self, indices: IndexArray) -> tuple[Any, IndexArray]:
        return locate_array(indices, self.weights)


@frozen
class Select(RoutingNode):
    """Elements of the parents as a selection map says."""

    __eq__ = object.__eq__  # what it holds may not be comparable
    __hash__ = object.__hash__

    name = "select_from_datasets"
    components: tuple[MapNode, ...]
    selection: DatasetSelectionMap

    @property
    def parents(self) -> tuple[MapNode, ...]:
        return self.components

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        return (type(self.selection).__getitem__,)

    def describe(self) -> str:
        return f"select_from_datasets({len(self.components)} datasets, {type(self.selection).__name__})"

    @cached_property
    def length(self) -> int:
        return len(self.selection)

    def route(self, index: int) -> tuple[int, int]:
        chosen = self.selection[index]  # as it is, past the end too: the map may give later epochs others
        try:
            component, at = map(int, chosen)
        except (TypeError, ValueError):
            raise TypeError(
                f"{type(self.selection).__name__}[{index}] must be (dataset, index), two integers, got {chosen!r:.200}"
            ) from None
        if not 0 <= component < len(self.components):
            raise IndexError(
                f"{type(self.selection).__name__}[{index}] names dataset {component}, "
                f"but there are {len(self.components)}"
            )
        return component, at

    def route_array(self, indices: IndexArray) -> tuple[Any, IndexArray]:
        routes = np.array([self.route(index) for index in indices.tolist()], dtype=np.int64).reshape(-1, 2)
        return routes[:, 0], routes[:, 1]

    def stream(self, indices: IndexArray) -> Iterator[Any]:
        try:
            return super().stream(indices)
        except Exception:
            return map(self.get, indices.tolist())  # the user's map fails for one of them, at its own place


@frozen
class Concatenate(RoutingNode):
    """The parents one after the other; epoch n is epoch n of each."""

    name = "concatenate"
    components: tuple[MapNode, ...]

    @property
    def parents(self) -> tuple[MapNode, ...]:
        return self.components

    def describe(self) -> str:
        return f"concatenate({len(self.components)} datasets)"

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(parent.length for parent in self.components))

    @cached_property
    def length(self) -> int:
        return min(sys.maxsize, self._ends[-1]) if self._ends else 0

    def route(self, index: int) -> tuple[int, int]:
        self.check_not_empty(index)
        epoch, offset = divmod(index, self.length)
        component = next(number for number, end in enumerate(self._ends) if offset < end)
        begin = self._ends[component - 1] if component else 0
        return component, epoch * self.components[component].length + offset - begin

    def route_array(self, indices: IndexArray) -> tuple[Any, IndexArray]:
        if len(indices):
            self.check_not_empty(int(indices[0]))
        epochs, offsets = np.divmod(indices, self.length)
        ends = np.array([min(end, sys.maxsize) for end in self._ends], dtype=np.int64)
        components = np.searchsorted(ends, offsets, side="right")
        begins = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
        lengths = np.array([parent.length for parent in self.components], dtype=np.int64)
        return components, epochs * lengths[components] + offsets - begins[components]
