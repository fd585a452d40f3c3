"""The number of the next element of a stream, out of its state and back, where the one determines the other.

A stage that counts its own outputs knows it, and so does one that gives exactly one output for each input, or one batch
for so many. After a filter, a mixture or packing nobody does without reading.
"""

from typing import Any

from grain._src.errors import PositionError
from grain._src.nodes.base import MapNode, Node
from grain._src.nodes.batch import StreamBatch
from grain._src.nodes.limit import StreamLimit
from grain._src.nodes.prefetch import ProcessPrefetch, ThreadPrefetch
from grain._src.nodes.steps import StreamMap, StreamMapWithIndex, StreamRandomMap, StreamSeed
from grain._src.nodes.stream import field
from grain._src.nodes.to_iter import ToIter, WithOptions

_SAME = (StreamMap, StreamSeed, ProcessPrefetch, ThreadPrefetch, WithOptions)
_COUNTERS = {StreamMapWithIndex: "counter", StreamRandomMap: "index_for_rng", StreamLimit: "count_elements_read"}


def index_in(node: Node, state: dict[str, Any]) -> int:
    """Returns the number of the next element of `node` when it is in `state`."""
    if isinstance(node, MapNode | ToIter):
        return field(state, "next_index", int)  # type: ignore[no-any-return]
    if isinstance(node, _SAME):
        return index_in(node.parent, state)
    if type(node) in _COUNTERS:
        return index_in(node.parent, field(state, "parent", dict))  # type: ignore[attr-defined]
    if isinstance(node, StreamBatch):
        records = index_in(_dense(node), state)
        return records // node.batch_size if node.drop_remainder else -(-records // node.batch_size)
    raise _unknown(node)


def state_at(node: Node, index: int) -> dict[str, Any]:
    """Returns the state of `node` before element number `index`."""
    if isinstance(node, MapNode | ToIter):
        length = node.length if isinstance(node, MapNode) else node.parent.length
        if not 0 <= index <= length:
            raise IndexError(f"index must be between 0 and the number of elements, {length}, got {index}")
        return {"next_index": index}
    if isinstance(node, _SAME):
        return state_at(node.parent, index)
    if type(node) in _COUNTERS:
        return {"parent": state_at(node.parent, index), _COUNTERS[type(node)]: index}  # type: ignore[attr-defined]
    if isinstance(node, StreamBatch):
        return state_at(_dense(node), min(index * node.batch_size, _length(node.parent)))
    raise _unknown(node)


def _length(node: Node) -> int:
    """The number of elements of a node that is known to `state_at`."""
    if isinstance(node, MapNode):
        return node.length
    if isinstance(node, StreamLimit):
        return min(node.count, _length(node.parent))
    if isinstance(node, StreamBatch):
        records = _length(node.parent)
        return records // node.batch_size if node.drop_remainder else -(-records // node.batch_size)
    (parent,) = node.parents
    return _length(parent)


def _dense(node: StreamBatch) -> Node:
    """The parent of a batch, if each of its elements has a place of its own in a batch."""
    above: Node = node.parent
    while not isinstance(above, MapNode):
        if len(above.parents) != 1:
            raise _unknown(above)
        (above,) = above.parents
    if above.sparse:
        raise _unknown(above)
    return node.parent


def _unknown(node: Node) -> PositionError:
    return PositionError(
        f"the number of the next element is not known after `{node.describe()}`: use get_state() and set_state()"
    )
