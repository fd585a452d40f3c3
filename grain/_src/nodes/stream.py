"""What a node of a stream is, and what runs it: an iterator with a state."""

import abc
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import compress, islice, repeat
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from grain._src.errors import StateError
from grain._src.nodes.base import Node

T = TypeVar("T", covariant=True)


class StreamNode(Node):
    """A transformation of one or more streams into one."""

    @abc.abstractmethod
    def build(self, parents: "Sequence[DatasetIterator[Any]]") -> "DatasetIterator[Any]":
        """Returns what runs this node over its running parents."""


class Storage(Protocol):
    """Who writes states to directories. The layer above gives it, so that a running pipeline knows nothing of files."""

    def save(self, iterator: "DatasetIterator[Any]", directory: Any) -> Awaitable[None]:
        """Takes the state now; the returned awaitable writes it."""

    def load(self, iterator: "DatasetIterator[Any]", directory: Any) -> Awaitable[None]:
        """Returns an awaitable that restores the state."""


class SelfStarting(Node):
    """A node that starts what is above it by itself: later, piece by piece, or more than once."""

    @abc.abstractmethod
    def start(self, start: "Callable[[Node], DatasetIterator[Any]]") -> "DatasetIterator[Any]":
        """Returns what runs this node; `start` returns what runs another."""


class Run:
    """Elements that were read together.

    Args:
      elements: in their order.
      state_after: returns the state of their iterator after so many of them.
      error: what was raised after them, if anything.
    """

    __slots__ = ("elements", "error", "state_after")

    def __init__(
        self, elements: Sequence[Any], state_after: Callable[[int], dict[str, Any]], error: BaseException | None = None
    ) -> None:
        self.elements = elements
        self.state_after = state_after
        self.error = error


class DatasetIterator(abc.ABC, Iterator[T], Generic[T]):
    """A running pipeline: `next` gives elements, `get_state` and `set_state` its position.

    Users subclass it too: define `__next__`, `get_state` and `set_state`, and call `super().__init__(parent)`.
    """

    _parents: "tuple[DatasetIterator[Any], ...]" = ()
    _closed = False
    _pipeline: Node | None = None  # what runs here, where it is known
    _storage: ClassVar[Storage]

    def __init__(self, parents: "DatasetIterator[Any] | Sequence[DatasetIterator[Any]]" = ()) -> None:
        self._parents = (parents,) if isinstance(parents, DatasetIterator) else tuple(parents)

    @property
    def _parent(self) -> "DatasetIterator[Any]":
        if len(self._parents) != 1:
            raise ValueError(f"{type(self).__name__} has {len(self._parents)} parents, not one")
        return self._parents[0]

    def __iter__(self) -> Self:
        return self

    @abc.abstractmethod
    def __next__(self) -> T:
        """Returns the next element."""

    @abc.abstractmethod
    def get_state(self) -> dict[str, Any]:
        """Returns a small JSON-ready dict that means: resume right after what was handed out."""

    @abc.abstractmethod
    def set_state(self, state: dict[str, Any]) -> None:
        """Goes to where `state` was taken."""

    async def save(self, directory: Any) -> Awaitable[None]:
        """Takes the state now and returns an awaitable that writes it into `directory`: the protocol of Orbax."""
        return self._storage.save(self, directory)

    async def load(self, directory: Any) -> Awaitable[None]:
        """Returns an awaitable that goes to where `save` into `directory` was called: the protocol of Orbax."""
        return self._storage.load(self, directory)

    def pull(self, count: int) -> list[T]:
        """Returns the next `count` elements, fewer at the end."""
        return list(islice(self, count))

    def pull_run(self, count: int) -> Run | None:
        """Returns some of the next elements, at most `count` and none at the end; None if states within them are not known."""
        return None

    def pull_batch(self, count: int) -> tuple[int, Any] | None:
        """Returns the next `count` elements as one batch, and how many they are, where that is quicker; else None."""
        return None

    def start_prefetch(self) -> None:
        """Begins to work ahead before the first `next`, where something works ahead."""
        for parent in self._parents:
            parent.start_prefetch()

    def close(self) -> None:
        """Ends the background work; a later `next` is an error. May be called more than once."""
        self._closed = True
        for parent in self._parents:
            parent.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def without_calls(iterator: Iterator[Any]) -> Iterator[Any]:
    """Returns the elements of `iterator` for a `for` loop that takes one of them.

    Python looks for signals after calls. A loop calls nothing between an element's coming and its being counted, so Ctrl-C comes
    before both or after both; and this iterator needs no `__iter__` to be called for it either.
    """
    return compress(iterator, repeat(True))


def is_interrupt(error: BaseException) -> bool:
    """Whether it is Ctrl-C or the like, after which nothing should be missing: no error of an element."""
    return not isinstance(error, Exception)


def closed_error(what: str) -> ValueError:
    """Returns what `next` of a closed iterator raises."""
    return ValueError(f"Trying to advance a closed iterator: {what}")


def closed_elements(what: str) -> Iterator[Any]:
    """The elements of a closed iterator: an error."""
    raise closed_error(what)
    yield


def set_states(iterators: "Sequence[DatasetIterator[Any]]", states: Sequence[dict[str, Any]]) -> None:
    """Sets the states of several iterators, or of none if one of them is refused."""
    before = [iterator.get_state() for iterator in iterators]
    try:
        for iterator, state in zip(iterators, states, strict=True):
            iterator.set_state(state)
    except Exception:
        for iterator, state in zip(iterators, before, strict=True):
            iterator.set_state(state)
        raise


def field(state: Any, name: str, kind: type) -> Any:
    """Returns state[name] if it is of `kind`; says what is wrong with the state otherwise."""
    if not isinstance(state, dict):
        raise StateError(f"a state must be a dict, got {state!r:.200}")
    if name not in state:
        raise StateError(f"the state has no {name!r}: it is of another pipeline. It has {sorted(map(str, state))}")
    value = state[name]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise StateError(f"{name!r} in the state must be of type {kind.__name__}, got {value!r:.200}")
    return value
