"""The inline executor: each element is computed when it is asked for, in the thread that asks."""

from itertools import compress, repeat
from time import perf_counter

import numpy as np

from grain._src.engine.blocks import Block
from grain._src.nodes.base import MapNode

# How many records' indices are rewritten at once, and how long preparing that may take before blocks stop growing.
BLOCK_RECORDS = 4096
BLOCK_SECONDS = 1e-3


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
        self._most = max(1, BLOCK_RECORDS // node.width)
        self._size = min(size, self._most)

    def block_at(self, position: int) -> Block | None:
        """Returns the elements from `position` on; None at the end."""
        end = min(position + self._size, self.stop)
        if position >= end:
            return None
        began = perf_counter()
        elements = self._node.stream(np.arange(position, end))
        if perf_counter() - began < BLOCK_SECONDS:
            self._size = min(2 * self._size, self._most)
        ticks = repeat(True, end - position)
        return Block(compress(elements, ticks), ticks, end)

    def start(self, position: int) -> None:
        """There is nothing to do ahead."""

    def close(self) -> None:
        """There is nothing to end."""
