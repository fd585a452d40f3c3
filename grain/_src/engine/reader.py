"""The iterator over a dataset with random access: its whole state is the index of the next element."""

from collections.abc import Iterator
from itertools import islice, repeat
from typing import Any, Protocol

from grain._src.engine.blocks import Block
from grain._src.errors import StateError
from grain._src.nodes.base import EarlyStop, MapNode
from grain._src.nodes.blame import annotate
from grain._src.nodes.drops import Drops
from grain._src.nodes.stream import DatasetIterator, Run, closed_elements, closed_error, field
from grain._src.nodes.worker_states import merge_worker_states


class Reader(Protocol):
    """Who computes the elements: inline or threads."""

    def block_at(self, position: int) -> Block | None:
        """Returns elements from `position` on, at least one; None at the end."""

    def start(self, position: int) -> None:
        """Begins to work ahead from `position` on."""

    def close(self) -> None:
        """Ends the background work."""


class ReaderIterator(DatasetIterator[Any]):
    """Hands out the elements of a dataset with random access, in order, without the holes."""

    def __init__(self, node: MapNode, reader: Reader, allow_nones: bool) -> None:
        super().__init__()
        self._node = node
        self._reader = reader
        self._allow_nones = allow_nones
        self._drops = Drops(f"`{node.describe()}`")
        self.holes: list[int] | None = None  # a list here collects where holes were passed over
        self._seek(0)

    def _seek(self, position: int) -> None:
        self._begun, self._dropped = position, 0  # what the drops do not know yet
        self._show(Block.of([], position))
        self._handed_to, self._read_to = position, position  # of the last run: the holes after it are read, too
        self._drops.restart()

    def _show(self, block: Block) -> None:
        """Makes a block the current one."""
        items = self._judged(block.items) if self._drops.strict else block.items
        # Without a call in between, so that Ctrl-C finds either all of it or nothing.
        self._block, self._items, self._end, self._ticks = block, items, block.end, block.ticks

    @property
    def position(self) -> int:
        """The index of the next element to look at."""
        return self._block.position

    record_position = position  # what steps that number records look for; a user's own iterator has no such name

    @property
    def record_source(self) -> MapNode:
        """Where the records are that positions count."""
        return self._node

    def __next__(self) -> Any:
        while True:
            try:
                for element in self._items:
                    if element is not None or self._allow_nones:
                        return element
                    self._drop()
            except BaseException as error:
                self._fail(error)
                raise
            self._advance()

    def pull(self, count: int) -> list[Any]:
        elements: list[Any] = []
        while (missing := count - len(elements)) > 0:
            begun, more = self._block.position, list[Any]()
            try:
                more.extend(islice(self._items, missing))
            except BaseException as error:
                self._fail(error)
                raise
            exhausted = len(more) < missing
            elements += self._without_holes(more, begun)
            if exhausted:
                try:
                    self._advance()
                except StopIteration:
                    break
        return elements

    def pull_run(self, count: int) -> Run:
        start = self._handed_to if self._block.position == self._read_to else self._block.position
        while True:
            begun, read, error = self._block.position, list[Any](), None
            try:
                read.extend(islice(self._items, count))
            except BaseException as raised:
                error = raised
            kept = self._without_holes(read, begun)
            if error is not None:
                self._fail(error)
                if not kept:
                    raise error
            if kept:
                break
            if len(read) < count:
                try:
                    self._advance()
                except StopIteration:
                    break
        places = _Places(start, begun, read, kept)
        self._handed_to, self._read_to = places.after(len(kept)), self._block.position
        return Run(kept, places.state_after, error)

    def _without_holes(self, elements: list[Any], begun: int) -> list[Any]:
        """Returns elements that were read from position `begun` on, without the holes if those do not count."""
        if self._allow_nones or self._node.dense:
            return elements
        kept = [element for element in elements if element is not None]
        if len(kept) < len(elements):
            self._dropped += len(elements) - len(kept)
            if self.holes is not None:
                self.holes += [at for at, element in enumerate(elements, begun) if element is None]
        return kept

    def _drop(self) -> None:
        if self.holes is not None:
            self.holes.append(self._block.position - 1)
        self._dropped += 1

    def _advance(self) -> None:
        """Goes on to the next block; raises the error that stands at its place, or StopIteration."""
        if self._closed:
            raise closed_error(self._node.describe())
        done = self._block
        if done.error is not None:
            error, done.error = done.error, None
            self._fail(error)
            raise error
        if done.position != done.end:
            stop = EarlyStop()
            self._fail(stop)
            raise stop
        if not self._drops.strict:
            begun, dropped = self._begun, self._dropped
            self._begun, self._dropped = done.end, 0
            self._drops.add(done.end - begun, dropped)
        block = self._reader.block_at(done.end)
        if block is None:
            raise StopIteration
        self._show(block)

    def _judged(self, items: Iterator[Any]) -> Iterator[Any]:
        """Raises exactly where too much was dropped."""
        for element in items:
            self._drops.add(1, element is None and not self._allow_nones)
            yield element

    def _fail(self, error: BaseException) -> None:
        """Stays at the element that failed, so that a later `next` tries it again."""
        position = self._block.position
        if not self._closed:
            annotate(error, self._node, position)
            self._seek(position)

    def get_state(self) -> dict[str, Any]:
        return {"next_index": self._end - self._ticks.__length_hint__()}  # the block's position, in fewer steps

    def set_state(self, state: dict[str, Any]) -> None:
        index = field(merge_worker_states(state) or state, "next_index", int)
        if not 0 <= index <= self._node.length:
            raise StateError(f"'next_index' in the state must be from 0 to {self._node.length}, got {index}")
        self._seek(index)

    def start_prefetch(self) -> None:
        self._reader.start(self._block.position)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._reader.close()
            position = self._block.position
            self._show(Block(closed_elements(self._node.describe()), repeat(None, 0), position))


class _Places:
    """Where the elements of a run are.

    Args:
      start: the position before the run, holes not yet looked at included.
      begun: the position of the first that was read.
      read: what was read, holes included.
      kept: the same without the holes, if those do not count.
    """

    __slots__ = ("_begun", "_kept", "_read", "_start")

    def __init__(self, start: int, begun: int, read: list[Any], kept: list[Any]) -> None:
        self._start = start
        self._begun = begun
        self._read = read
        self._kept = kept

    def after(self, number: int) -> int:
        """The position after so many elements."""
        if not number:
            return self._start
        if len(self._kept) == len(self._read):
            return self._begun + number
        if number < len(self._kept):
            places = (at for at, element in enumerate(self._read, self._begun + 1) if element is not None)
            return next(islice(places, number - 1, None))
        end = len(self._read)
        while self._read[end - 1] is None:
            end -= 1
        return self._begun + end

    def state_after(self, number: int) -> dict[str, Any]:
        return {"next_index": self.after(number)}
