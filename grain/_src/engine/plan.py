"""Cuts a pipeline into what worker processes compute and what runs in one place over the merged stream.

A stage begins at a dataset with random access and goes on as long as each output depends on known positions: through
maps, filters, flat maps, and through batches while no element can have been dropped before. Everything after it is an
ordered step, or the like, and pulls from it.
"""

import dataclasses

from grain._src.frozen import Frozen, frozen
from grain._src.nodes import steps
from grain._src.nodes.base import Node
from grain._src.nodes.batch import StreamBatch
from grain._src.nodes.flat_map import StreamFlatMap
from grain._src.nodes.stream import StreamNode
from grain._src.nodes.to_iter import ToIter


@frozen
class Stage(Frozen):
    """A stretch of the pipeline that any worker can compute for any range of positions.

    Args:
      chain: its nodes, from the `to_iter_dataset` on.
      unit: how many records one output takes, so that blocks begin and end between outputs.
      dense: whether it relies on no element being a hole.
      grouped: whether an output's place is more than a position (the n-th output of a flat map).
      thinned: whether a step drops elements.
    """

    chain: tuple[Node, ...]
    unit: int = 1
    dense: bool = False
    grouped: bool = False
    thinned: bool = False

    @property
    def root(self) -> ToIter:
        """Where the positions are counted."""
        root = self.chain[0]
        assert isinstance(root, ToIter)
        return root

    @property
    def node(self) -> Node:
        """The last node: what the stage gives."""
        return self.chain[-1]

    @property
    def numbered(self) -> tuple[tuple[Node, int], ...]:
        """The steps that number their inputs, each with how many records one input takes."""
        found, unit = [], 1
        for node in self.chain:
            if isinstance(node, StreamBatch):
                unit *= node.batch_size
            elif isinstance(node, steps.StreamRandomMap | steps.StreamMapWithIndex):
                found.append((node, unit))
        return tuple(found)


@frozen
class Spread(Frozen):
    """A run of elementwise steps after an ordered one: elements are sent to workers and come back transformed."""

    steps: tuple[steps.Step, ...]


@frozen
class Remote(Frozen):
    """A stream that begins with itself, such as a user's own: one worker runs it, from its state on."""

    node: StreamNode


def remote_of(node: Node) -> Remote | None:
    """Returns `node` for one worker to run, if it is a stream without parents."""
    return Remote(node) if isinstance(node, StreamNode) and not node.parents else None


def spreads_of(node: Node) -> tuple[Node, list[Spread]]:
    """Returns what the run of steps that ends with `node` reads from, and the run, cut where numbering needs the merge.

    The steps are those that no stage has: `node` itself is not part of one.
    """
    run: list[steps.Step] = []
    while isinstance(node, steps.Step) and stage_of(node) is None:
        run.insert(0, node)
        node = node.parent
    spreads: list[list[steps.Step]] = [[]]
    for step in run:
        # After a filter, or an error between two of them, the numbers depend on what came before.
        counted = any(isinstance(other, steps.StreamFilter | steps.StreamMapWithIndex) for other in spreads[-1])
        if isinstance(step, steps.StreamMapWithIndex) and counted:
            spreads.append([])
        spreads[-1].append(step)
    return node, [Spread(tuple(part)) for part in spreads]


def stage_of(node: Node) -> Stage | None:
    """Returns the stage that ends with `node`; None if `node` is more than a stage."""
    if isinstance(node, ToIter):
        return Stage((node,), thinned=node.parent.sparse and not node.allow_nones)
    if not isinstance(node, steps.Step | StreamBatch | StreamFlatMap):
        return None
    above = stage_of(node.parent)
    if above is None:
        return None
    stage = dataclasses.replace(above, chain=(*above.chain, node))
    positional = not (above.thinned or above.grouped)
    match node:
        case StreamBatch():
            return dataclasses.replace(stage, unit=stage.unit * node.batch_size, dense=True) if positional else None
        case steps.StreamMapWithIndex():
            return dataclasses.replace(stage, dense=True) if positional else None
        case steps.StreamRandomMap():
            if above.grouped:
                return None
            after_batch = any(isinstance(other, StreamBatch) for other in above.chain)
            return dataclasses.replace(stage, dense=True) if after_batch else stage
        case StreamFlatMap():
            # After a filter of batches, where its state points to would depend on where a block begins.
            return dataclasses.replace(stage, grouped=True) if above.unit == 1 or positional else None
        case steps.StreamFilter():
            return dataclasses.replace(stage, thinned=True)
    return stage
