"""Shuffling within consecutive windows, with random access and in a stream."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from grain._src.errors import StateError
from grain._src.frozen import frozen
from grain._src.indexing.permutation import IndexArray, permute_array
from grain._src.indexing.windows import permute_in_window, permute_in_window_array
from grain._src.nodes.base import IndexNode, MapNode, Node
from grain._src.nodes.counts import count
from grain._src.nodes.stream import DatasetIterator, StreamNode, closed_error, field

_SEEDS = 2**32


@frozen
class WindowShuffle(IndexNode):
    """A permutation within each window of `window_size` indices; epochs do not end a window."""

    name = "window_shuffle"
    parent: MapNode
    window_size: int
    seed: int

    @property
    def length(self) -> int:
        return self.parent.length

    def rewrite(self, index: int) -> int:
        return permute_in_window(index, self.window_size, self.seed)

    def rewrite_array(self, indices: IndexArray) -> IndexArray:
        return permute_in_window_array(indices, self.window_size, self.seed)


@frozen
class StreamWindowShuffle(StreamNode):
    """Fills a window with elements, permutes it and hands it out, then the next one."""

    name = "window_shuffle"
    parent: Node
    window_size: int
    seed: int

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    def build(self, parents: Sequence[DatasetIterator[Any]]) -> DatasetIterator[Any]:
        return WindowShuffleIterator(self, parents[0])


class WindowShuffleIterator(DatasetIterator[Any]):
    """Its state: where the parent was before the window, how many elements of it are handed out, and its number.

    The number is already that of the next window once the last element is handed out. Elements are not part of the
    state: a restored iterator reads the window again.
    """

    def __init__(self, node: StreamWindowShuffle, parent: DatasetIterator[Any]) -> None:
        super().__init__(parent)
        self._node = node
        self._start = parent.get_state()
        self._window = 0
        self._handed = 0
        self._left: list[Any] = []  # in reverse order
        self._filling: list[Any] = []  # survives an error of the parent
        self._filling_start: dict[str, Any] | None = None
        self._skip = 0  # elements of the first window that were handed out before the state was taken

    def __next__(self) -> Any:
        if self._closed:
            raise closed_error(self._node.describe())
        if not self._left:
            self._next_window()
        # From here on nothing is called: Ctrl-C comes before the element is handed out, or after.
        element = self._left[-1]
        del self._left[-1]
        self._handed += 1
        if not self._left:
            self._window += 1
        return element

    def pull(self, count: int) -> list[Any]:
        elements: list[Any] = []
        while len(elements) < count:
            if len(self._left) < 2:
                more = list(islice(self, 1))  # the last element of a window counts it
                if not more:
                    break
            else:
                cut = max(1, len(self._left) - (count - len(elements)))
                more = self._left[: cut - 1 : -1]
                del self._left[cut:]
                self._handed += len(more)
            elements += more
        return elements

    def _next_window(self) -> None:
        if self._filling_start is None:
            self._filling_start = self._parent.get_state()
        self._filling.extend(islice(self._parent, self._node.window_size - len(self._filling)))
        elements, start, skip = self._filling, self._filling_start, self._skip
        size = len(elements)
        if not size or skip >= size:
            self._filling, self._filling_start, self._skip = [], None, 0
            if not size:
                raise StopIteration
            return self._next_window()  # the state was taken right after the last element of its window
        order = permute_array(np.arange(size), size - 1, (self._node.seed + self._window) % _SEEDS)
        left = list(map(elements.__getitem__, order[: size - skip].tolist()))
        self._left, self._start, self._handed = left, start, skip
        self._filling, self._filling_start, self._skip = [], None, 0

    def get_state(self) -> dict[str, Any]:
        return {
            "parent_window_start_state": self._start,
            "window_index": self._window,
            "pos_in_window": self._handed,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        start = field(state, "parent_window_start_state", dict)
        window, handed = count(state, "window_index"), count(state, "pos_in_window")
        if handed > self._node.window_size:
            raise StateError(
                f"'pos_in_window' in the state must be at most {self._node.window_size}, the size of a window, got {handed}"
            )
        self._parent.set_state(start)
        self._start, self._window, self._handed = start, window, handed
        self._left, self._filling, self._filling_start, self._skip = [], [], None, handed
