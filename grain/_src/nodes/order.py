"""Nodes that change which elements come in which order: shuffle, slice, repeat, seed."""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from grain._src.frozen import frozen
from grain._src.indexing.permutation import IndexArray, permute, permute_array
from grain._src.nodes.base import IndexNode, MapNode

_SEEDS = 2**32


@frozen
class Shuffle(IndexNode):
    """A permutation of the whole dataset, another one each epoch."""

    name = "shuffle"
    parent: MapNode
    seed: int

    @property
    def length(self) -> int:
        return self.parent.length

    def rewrite(self, index: int) -> int:
        length = self.parent.length
        epoch, offset = divmod(index, length)
        return epoch * length + permute(offset, length - 1, (self.seed + epoch) % _SEEDS)

    def rewrite_array(self, indices: IndexArray) -> IndexArray:
        length = self.parent.length
        if not len(indices):
            return indices
        first = int(indices[0]) // length
        start = first * length
        if start <= indices.min() and indices.max() < start + length:
            offsets = indices - start if start else indices
            images = permute_array(offsets, length - 1, (self.seed + first) % _SEEDS)
            return images + start if start else images
        images = np.empty_like(indices)
        epochs = indices // length
        for epoch in np.unique(epochs).tolist():
            mine = epochs == epoch
            offsets = indices[mine] - epoch * length
            images[mine] = permute_array(offsets, length - 1, (self.seed + epoch) % _SEEDS) + epoch * length
        return images


@frozen
class Slice(IndexNode):
    """Every step-th element from start to stop."""

    name = "slice"
    parent: MapNode
    start: int
    stop: int
    step: int

    def describe(self) -> str:
        return f"slice({self.start}:{self.stop}:{self.step})"

    @property
    def length(self) -> int:
        return len(range(self.start, self.stop, self.step))

    def rewrite(self, index: int) -> int:
        epoch, offset = divmod(index, self.length)
        return epoch * self.parent.length + self.start + offset * self.step

    def rewrite_array(self, indices: IndexArray) -> IndexArray:
        epochs, offsets = np.divmod(indices, self.length)
        images: IndexArray = epochs * self.parent.length + (offsets * self.step + self.start)
        return images


@frozen
class Pick(IndexNode):
    """The elements at the indices that a sequence of ints lists."""

    __eq__ = object.__eq__  # what it holds may not be comparable
    __hash__ = object.__hash__

    name = "slice"
    parent: MapNode
    picks: Any

    def describe(self) -> str:
        return f"slice({self.length} indices)"

    @property
    def length(self) -> int:
        return len(self.picks)

    def rewrite(self, index: int) -> int:
        epoch, offset = divmod(index, self.length)
        return epoch * self.parent.length + self._pick(offset)

    def _pick(self, offset: int) -> int:
        picked, length = int(self.picks[offset]), self.parent.length
        if not -length <= picked < length:
            raise IndexError(f"indices must be between {-length} and {length - 1}, got {picked}")
        return picked + length if picked < 0 else picked

    def rewrite_array(self, indices: IndexArray) -> IndexArray:
        epochs, offsets = np.divmod(indices, self.length)
        if isinstance(self.picks, np.ndarray):
            picked = self.picks[offsets]
        else:
            picked = np.fromiter(map(self._pick, offsets.tolist()), np.int64, len(offsets))
        return epochs * self.parent.length + picked

    def stream(self, indices: IndexArray) -> Iterator[Any]:
        try:
            return super().stream(indices)
        except Exception:
            # A dataset of indices may be a user's: one of them fails, at its own place.
            return map(self.get, indices.tolist())

    def resolve(self, indices: IndexArray) -> tuple[MapNode, IndexArray] | None:
        try:
            return super().resolve(indices)
        except Exception:
            return None


@frozen
class Repeat(IndexNode):
    """The dataset several times over; `num_epochs` None repeats without end."""

    name = "repeat"
    parent: MapNode
    num_epochs: int | None
    reseed_each_epoch: bool = True

    @property
    def length(self) -> int:
        if self.num_epochs is None:
            return sys.maxsize if self.parent.length else 0
        return min(sys.maxsize, self.num_epochs * self.parent.length)

    def rewrite(self, index: int) -> int:
        return index if self.reseed_each_epoch else index % self.parent.length

    def rewrite_array(self, indices: IndexArray) -> IndexArray:
        return indices if self.reseed_each_epoch else indices % self.parent.length


@frozen
class Seed(IndexNode):
    """The same elements; random transformations after it take their seeds from it."""

    name = "seed"
    transparent = True  # what it changes are the seeds of other nodes, which have them
    parent: MapNode
    seed: int

    @property
    def length(self) -> int:
        return self.parent.length

    def rewrite(self, index: int) -> int:
        return index

    def rewrite_array(self, indices: IndexArray) -> IndexArray:
        return indices
