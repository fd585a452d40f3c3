"""The inline executor: each element is computed when it is asked for, in the thread that asks."""

from itertools import compress, repeat
from time import perf_counter

import numpy as np

from grain._src.engine.blocks import Block
from grain._src.engine.tuning import Growth
from grain._src.indexing.permutation import IndexArray
from grain._src.nodes import reading
from grain._src.nodes.base import MapNode

BLOCK_RECORDS = 4096  # how many records' indices are rewritten at once, at the most


class InlineReader:
    """Prepares the indices in growing blocks and leaves every element for later.

    Args:
      node: what to read.
      size: the first block's size.

    `stop` is where to end; a worker moves it from block to block.
    """

    def __init__(self, node: MapNode, size: int = 1) -> None:
        self._node = node
        self.stop = node.length
        self._growth = Growth(max(1, BLOCK_RECORDS // node.width), size, amortized=True, parts=node.breadth)
        self._expected = 0

    def block_at(self, position: int) -> Block | None:
        """Returns the elements from `position` on; None at the end."""
        if position != self._expected:
            self._growth.restart()
        end = min(position + self._growth.size, self.stop)
        if position >= end:
            return None
        began = perf_counter()
        elements = reading.stream(self._node, np.arange(position, end))
        self._growth.observe(perf_counter() - began, end - position)
        self._expected = end
        ticks = repeat(True, end - position)
        return Block(compress(elements, ticks), ticks, end)

    @property
    def done(self) -> bool:
        """Whether the last block was the last before `stop`."""
        return self._expected >= self.stop

    def upcoming(self, position: int, stop: int) -> IndexArray:
        """Returns the indices of the block at `position` when `stop` is the end."""
        size = self._growth.size if position == self._expected else self._growth.first
        return np.arange(position, min(position + size, stop))

    def start(self, position: int) -> None:
        """There is nothing to do ahead."""

    def close(self) -> None:
        """There is nothing to end."""
