"""Operations: the older way to write a loader's transformations, as iterators of records."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol

import numpy as np

from grain._src import arguments, trees
from grain._src.records import Record


class Operation(Protocol):
    """Anything that turns an iterator of records into another one, keeping the records' metadata.

    An operation that gives one record for each it takes is restored at once; one that holds records back, drops or joins
    them is restored by running it again from its last such point. `grain.transforms` have no such cost.
    """

    def __call__(self, input_iterator: Iterator[Record[Any]]) -> Iterator[Record[Any]]:
        """Yields the transformed records."""


@dataclasses.dataclass(frozen=True)
class MapOperation:
    """A function of each element; `grain.transforms.Map` is the newer way."""

    map_function: Callable[[Any], Any]

    def __call__(self, input_iterator: Iterator[Record[Any]]) -> Iterator[Record[Any]]:
        for record in input_iterator:
            yield Record(record.metadata, self.map_function(record.data))


@dataclasses.dataclass(frozen=True)
class RandomMapOperation:
    """A function of each element and its record's generator; `grain.transforms.RandomMap` is the newer way."""

    random_map_function: Callable[[Any, np.random.Generator], Any]

    def __call__(self, input_iterator: Iterator[Record[Any]]) -> Iterator[Record[Any]]:
        for record in input_iterator:
            yield Record(record.metadata, self.random_map(record.data, record.metadata.rng))

    def random_map(self, element: Any, rng: np.random.Generator | None) -> Any:
        """Returns the function's value for an element; says so if there is no generator."""
        if rng is None:
            raise ValueError("RandomMapOperation needs random generators, which the sampler has if it is given a seed")
        return self.random_map_function(element, rng)


@dataclasses.dataclass(frozen=True)
class FilterOperation:
    """The elements for which a function says yes; `grain.transforms.Filter` is the newer way."""

    condition_function: Callable[[Any], bool]

    def __call__(self, input_iterator: Iterator[Record[Any]]) -> Iterator[Record[Any]]:
        return (record for record in input_iterator if self.condition_function(record.data))


@dataclasses.dataclass(frozen=True)
class BatchOperation:
    """Batches of consecutive elements; `grain.transforms.Batch` is the newer way."""

    batch_size: int
    drop_remainder: bool = False
    batch_fn: Callable[[Sequence[Any]], Any] | None = None

    def __post_init__(self) -> None:
        arguments.positive("batch_size", self.batch_size)
        arguments.flag("drop_remainder", self.drop_remainder)
        if self.batch_fn is not None:
            arguments.function("batch_fn", self.batch_fn)

    def __call__(self, input_iterator: Iterator[Record[Any]]) -> Iterator[Record[Any]]:
        combine = trees.stack if self.batch_fn is None else self.batch_fn
        while records := list(islice(input_iterator, self.batch_size)):
            if len(records) < self.batch_size and self.drop_remainder:
                return
            yield Record(records[-1].metadata.remove_record_key(), combine([record.data for record in records]))

    def disable_deprecation_message(self) -> None:
        """There is no such message; kept for code that calls it."""
