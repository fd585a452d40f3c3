"""States of a stage as positions: where a state is, and what the state at another position looks like."""

from typing import Any

from grain._src.engine.plan import Stage
from grain._src.nodes.base import Node
from grain._src.nodes.batch import StreamBatch
from grain._src.nodes.flat_map import StreamFlatMap
from grain._src.nodes.steps import StreamMapWithIndex, StreamRandomMap
from grain._src.nodes.stream import field


def position_of(stage: Stage, state: dict[str, Any]) -> int:
    """Returns the position of the next record to read; says what is wrong with a state of another pipeline."""
    for node in reversed(stage.chain):
        match node:
            case StreamRandomMap():
                field(state, "index_for_rng", int)
            case StreamMapWithIndex():
                field(state, "counter", int)
            case StreamFlatMap():
                field(state, "next_index_in_buffer", int)
            case _:
                continue
        state = field(state, "parent", dict)
    return field(state, "next_index", int)  # type: ignore[no-any-return]


def initial_state(stage: Stage) -> dict[str, Any]:
    """Returns the state before the first element."""
    return _wrap(stage.chain, {"next_index": 0}, None, 0)


def moved(stage: Stage, state: dict[str, Any], position: int) -> dict[str, Any]:
    """Returns the state at `position`, between two outputs, of a run that was in `state` before."""
    return _wrap(stage.chain, {"next_index": position}, state, position - position_of(stage, state))


def _wrap(chain: tuple[Node, ...], inner: dict[str, Any], old: dict[str, Any] | None, delta: int) -> dict[str, Any]:
    """Builds the state from the root down; `old` gives the numbers that steps had `delta` records before."""
    layers: list[dict[str, Any]] = []
    for node in reversed(chain):
        if isinstance(node, StreamRandomMap | StreamMapWithIndex | StreamFlatMap) and old is not None:
            layers.append(old)
            old = old["parent"]
    unit, whole = 1, True
    position = inner["next_index"]
    for node in chain:
        match node:
            case StreamBatch():
                unit *= node.batch_size
                whole = whole and not node.drop_remainder
            case StreamFlatMap():
                if layers:
                    layers.pop()
                inner = {"parent": inner, "next_index_in_buffer": 0}
            case StreamRandomMap() | StreamMapWithIndex():
                key = "index_for_rng" if isinstance(node, StreamRandomMap) else "counter"
                before = layers.pop()[key] if layers else 0
                # A last batch that is not full counts, unless it is dropped.
                count = -(-delta // unit) if whole else delta // unit
                by_position = unit == 1 and isinstance(node, StreamRandomMap)
                inner = {"parent": inner, key: position if by_position else before + count}
    return inner
