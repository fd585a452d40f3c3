"""A pipeline without anything that runs beside it: no threads, no worker processes."""

import dataclasses

from grain._src.nodes.base import MapNode, Node
from grain._src.nodes.custom import CustomStream
from grain._src.nodes.prefetch import ProcessPrefetch, ThreadPrefetch
from grain._src.nodes.to_iter import ToIter
from grain._src.options import ReadOptions


def inlined(node: Node) -> Node:
    """Returns a node with the same elements, each computed when it is asked for, in the thread that asks."""
    if isinstance(node, MapNode):
        return ToIter(node, ReadOptions(0, 0))
    if isinstance(node, ToIter):
        return dataclasses.replace(node, read_options=ReadOptions(0, 0))
    if isinstance(node, ProcessPrefetch | ThreadPrefetch):
        return inlined(node.parent)
    if isinstance(node, CustomStream):
        return node  # it starts its parents itself
    changed = {
        field.name: inlined(value) if isinstance(value, Node) else tuple(map(inlined, value))
        for field in dataclasses.fields(node)
        if isinstance(value := getattr(node, field.name), Node)
        or (isinstance(value, tuple) and value and all(isinstance(part, Node) for part in value))
    }
    return dataclasses.replace(node, **changed)
