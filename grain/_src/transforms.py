"""Transformations as classes: what a user subclasses instead of writing a function."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from grain._src import arguments


class Map(abc.ABC):
    """One element in, one element out."""

    @abc.abstractmethod
    def map(self, element: Any) -> Any:
        """Returns the new element."""


class RandomMap(abc.ABC):
    """One element in, one element out, with a random generator of the element's own."""

    @abc.abstractmethod
    def random_map(self, element: Any, rng: np.random.Generator) -> Any:
        """Returns the new element."""


class TfRandomMap(abc.ABC):
    """A random map over a TensorFlow seed; it works as a `RandomMap` through `np_random_map`."""

    @abc.abstractmethod
    def np_random_map(self, element: Any, rng: np.random.Generator) -> Any:
        """Returns the new element."""


class MapWithIndex(abc.ABC):
    """One element in, one element out, knowing its index."""

    @abc.abstractmethod
    def map_with_index(self, index: int, element: Any) -> Any:
        """Returns the new element."""


class Filter(abc.ABC):
    """Keeps some elements and drops the others."""

    @abc.abstractmethod
    def filter(self, element: Any) -> bool:
        """Returns whether to keep the element."""


class FlatMap(abc.ABC):
    """One element in, up to `max_fan_out` elements out."""

    max_fan_out: int

    @abc.abstractmethod
    def flat_map(self, element: Any) -> Sequence[Any]:
        """Returns the new elements."""


@dataclasses.dataclass(frozen=True, slots=True)
class Batch:
    """Stacks consecutive elements.

    Args:
      batch_size: how many.
      drop_remainder: whether to drop a last batch that is not full.
      batch_fn: makes the batch of a list of elements, instead of stacking.
    """

    batch_size: int
    drop_remainder: bool = False
    batch_fn: Callable[[Sequence[Any]], Any] | None = None

    def __post_init__(self) -> None:
        arguments.positive("batch_size", self.batch_size)
        arguments.flag("drop_remainder", self.drop_remainder)
        if self.batch_fn is not None:
            arguments.function("batch_fn", self.batch_fn)


class DatasetSelectionMap(abc.ABC):
    """Says for each index which element of which dataset to take."""

    @abc.abstractmethod
    def __len__(self) -> int:
        """Returns the length of the selection."""

    @abc.abstractmethod
    def __getitem__(self, index: int) -> tuple[int, int]:
        """Returns (dataset, index within it)."""


Transformation: TypeAlias = Batch | Map | RandomMap | TfRandomMap | Filter | FlatMap | MapWithIndex
Transformations: TypeAlias = Sequence[Transformation]


_METHODS: tuple[tuple[type, str], ...] = (
    (Map, "map"),
    (RandomMap, "random_map"),
    (TfRandomMap, "random_map"),
    (MapWithIndex, "map_with_index"),
    (Filter, "filter"),
    (FlatMap, "apply"),
    (Batch, "apply"),
)


def method_of(transform: Any, base: type, name: str) -> Callable[..., Any]:
    """Returns the function behind `transform`: its method `name` if it is a `base`, else the callable itself."""
    if isinstance(transform, base):
        return getattr(transform, name)  # type: ignore[no-any-return]
    if callable(transform):
        return transform  # type: ignore[no-any-return]
    for kind, method in _METHODS:
        if isinstance(transform, kind):
            use = "`ds.apply(…)`" if method == "apply" else f"`ds.{method}(…)` or `ds.apply(…)`"
            raise TypeError(
                f"{name} takes a function or a grain.transforms.{base.__name__}, got a {kind.__name__}: use {use}"
            )
    raise TypeError(f"transform must be a function or a transformation, got {transform!r}")


def random_method_of(transform: Any) -> Callable[..., Any]:
    """Returns the function of (element, generator) behind `transform`."""
    if isinstance(transform, TfRandomMap):
        return transform.np_random_map
    return method_of(transform, RandomMap, "random_map")


def flat_method_of(transform: Any) -> tuple[Callable[..., Sequence[Any]], int]:
    """Returns the function behind a flat map, and how many elements it may give for one."""
    arguments.instance("transform", transform, FlatMap, "grain.transforms.FlatMap")  # type: ignore[type-abstract]
    return transform.flat_map, arguments.positive("max_fan_out", transform.max_fan_out)
