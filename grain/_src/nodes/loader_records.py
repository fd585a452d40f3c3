"""Functions of elements as functions of records: what a loader's steps call where metadata travels with the elements."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from grain._src.nodes.base import describe_value
from grain._src.nodes.batch import BatchFn, combine
from grain._src.records import Record, RecordMetadata


class LazyMetadata(RecordMetadata):
    """Metadata whose generator is made when it is asked for; `rng` may be given as a function that makes it."""

    __slots__ = ("_rng",)
    _rng: Any

    @property
    def rng(self) -> np.random.Generator | None:
        """The record's own random generator."""
        if callable(self._rng):
            self._rng = self._rng()
        return self._rng  # type: ignore[no-any-return]

    @rng.setter
    def rng(self, value: Any) -> None:
        self._rng = value

    def __reduce__(self) -> tuple[Any, ...]:
        return LazyMetadata, (self.index, self.record_key, self._rng)

    def __repr__(self) -> str:
        return f"RecordMetadata(index={self.index}, record_key={self.record_key}, rng={self.rng})"


class _OnRecords:
    """A function of records made of one of elements, and printed as that."""

    __slots__ = ()
    func: Any

    def __repr__(self) -> str:
        return describe_value(self.func)


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class MapData(_OnRecords):
    """A function of elements."""

    func: Callable[[Any], Any]

    def __call__(self, record: Record[Any]) -> Record[Any]:
        return Record(record.metadata, self.func(record.data))


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class MapDataWithIndex(_OnRecords):
    """A function of a record's index and its element."""

    func: Callable[[int, Any], Any]

    def __call__(self, record: Record[Any]) -> Record[Any]:
        return Record(record.metadata, self.func(record.metadata.index, record.data))


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class RandomMapData(_OnRecords):
    """A function of an element and its record's generator, which goes on from one such function to the next."""

    func: Callable[..., Any]

    def __call__(self, record: Record[Any]) -> Record[Any]:
        return Record(record.metadata, call_random(self.func, record.data, record.metadata.rng))


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class FilterData(_OnRecords):
    """A condition on elements."""

    func: Callable[[Any], bool]

    def __call__(self, record: Record[Any]) -> bool:
        return self.func(record.data)


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class FlatMapData(_OnRecords):
    """A function from one element to several; each gets an index and a generator of its own."""

    func: Callable[[Any], Sequence[Any]]
    max_fan_out: int

    def __call__(self, record: Record[Any]) -> list[Record[Any]]:
        first = record.metadata.index * self.max_fan_out
        return [
            Record(LazyMetadata(first + number, None, _Offspring(record.metadata, number)), output)  # type: ignore[arg-type]
            for number, output in enumerate(self.func(record.data))
        ]


@dataclasses.dataclass(frozen=True, slots=True)
class _Offspring:
    """Makes the generator of the output number `number` of a record: far along in the record's own sequence."""

    metadata: RecordMetadata
    number: int

    def __call__(self) -> np.random.Generator | None:
        rng = self.metadata.rng
        return None if rng is None else np.random.Generator(rng.bit_generator.jumped(self.number + 1))  # type: ignore[attr-defined]


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class BatchData(_OnRecords):
    """A batch of elements; its metadata is that of its last record."""

    func: BatchFn | None

    def __call__(self, records: Sequence[Record[Any]]) -> Record[Any]:
        metadata = records[-1].metadata.remove_record_key()
        return Record(metadata, combine(self.func, [record.data for record in records]))


def data_of(record: Record[Any]) -> Any:
    """Returns the element of a record."""
    return record.data


def call_random(function: Callable[..., Any], element: Any, rng: np.random.Generator | None) -> Any:
    """Returns function(element, rng); says so if it failed because there is no generator."""
    try:
        return function(element, rng)
    except (AttributeError, TypeError) as error:
        if rng is None:
            error.add_note("grain: the sampler gives no random generators: pass it a seed")
        raise
