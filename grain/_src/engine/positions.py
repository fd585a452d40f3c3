"""States of a stage as positions: where a state is, and what the state at another position looks like."""

from typing import Any

from grain._src.engine.plan import Stage
from grain._src.nodes.batch import StreamBatch
from grain._src.nodes.counts import count
from grain._src.nodes.flat_map import StreamFlatMap
from grain._src.nodes.steps import StreamMapWithIndex, StreamRandomMap
from grain._src.nodes.stream import field

_PLACE = "next_index_in_buffer"
_GENERATOR = "index_for_rng"


class Positions:
    """The states of one stage. They nest: each step that has a state of its own wraps that of what is above it."""

    def __init__(self, stage: Stage) -> None:
        # From the root down: its key in the state, and the batches above it, each with whether one not full is dropped.
        self._layers: list[tuple[str, tuple[tuple[int, bool], ...]]] = []
        batches: tuple[tuple[int, bool], ...] = ()
        for node in stage.chain:
            match node:
                case StreamBatch():
                    batches = (*batches, (node.batch_size, node.drop_remainder))
                case StreamFlatMap():
                    self._layers.append((_PLACE, batches))
                case StreamMapWithIndex():
                    self._layers.append(("counter", batches))
                case StreamRandomMap():
                    self._layers.append((_GENERATOR, batches))

    def of(self, state: dict[str, Any]) -> int:
        """Returns the position of the next record to read; says what is wrong with a state of another pipeline."""
        for key, _ in reversed(self._layers):
            count(state, key)
            state = field(state, "parent", dict)
        return field(state, "next_index", int)  # type: ignore[no-any-return]

    def initial(self) -> dict[str, Any]:
        """Returns the state before the first element."""
        state: dict[str, Any] = {"next_index": 0}
        for key, _ in self._layers:
            state = {"parent": state, key: 0}
        return state

    def moved(self, state: dict[str, Any], position: int) -> dict[str, Any]:
        """Returns the state at `position`, between two outputs, of a run that was in `state` before."""
        if not self._layers:
            return {"next_index": position}
        numbers = []
        for key, _ in reversed(self._layers):
            numbers.append(state[key])
            state = state["parent"]
        passed = position - state["next_index"]
        moved: dict[str, Any] = {"next_index": position}
        for key, batches in self._layers:
            number = numbers.pop()
            if key == _PLACE:
                number = 0
            elif key == _GENERATOR and not batches:
                number = position  # before any batch a record's generator is that of its position
            else:
                number += _inputs(passed, batches)
            moved = {"parent": moved, key: number}
        return moved


def _inputs(records: int, batches: tuple[tuple[int, bool], ...]) -> int:
    """Returns how many elements `records` make after being batched and batched again."""
    for size, drop_remainder in batches:
        records = records // size if drop_remainder else -(-records // size)
    return records
