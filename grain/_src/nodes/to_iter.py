"""Where a dataset with random access becomes a stream, and options that hold for the streams above."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from grain._src.frozen import frozen
from grain._src.nodes.base import MapNode, Node
from grain._src.nodes.stream import DatasetIterator, StreamNode
from grain._src.options import DatasetOptions, ReadOptions


@frozen
class ToIter(Node):
    """The elements in order of their indices, without the holes; the engine decides who reads them."""

    name = "to_iter_dataset"
    transparent = True
    parent: MapNode
    read_options: ReadOptions = dataclasses.field(default_factory=ReadOptions)
    allow_nones: bool = False

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    def describe(self) -> str:
        shown = [] if self.read_options == ReadOptions() else [f"read_options={self.read_options!r}"]
        return f"{self.name}({', '.join([*shown, *(['allow_nones=True'] if self.allow_nones else [])])})"


@frozen
class WithOptions(StreamNode):
    """The same elements; the options hold for everything above."""

    name = "with_options"
    transparent = True
    parent: Node
    options: DatasetOptions

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    def build(self, parents: Sequence[DatasetIterator[Any]]) -> DatasetIterator[Any]:
        return parents[0]
