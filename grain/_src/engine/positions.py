"""States of a stage as positions: where a state is, and what the state at another position looks like."""

from typing import Any

from grain._src.engine.plan import Stage
from grain._src.nodes.batch import StreamBatch
from grain._src.nodes.flat_map import StreamFlatMap
from grain._src.nodes.steps import StreamMapWithIndex, StreamRandomMap
from grain._src.nodes.stream import field


class Positions:
    """The states of one stage. They nest: each step that has a state of its own wraps that of what is above it."""

    def __init__(self, stage: Stage) -> None:
        # From the root down: (its key in the state, records of one input, whether a last batch that is not full counts).
        self._layers: list[tuple[str, int, bool]] = []
        unit, whole = 1, True
        for node in stage.chain:
            match node:
                case StreamBatch():
                    unit *= node.batch_size
                    whole = whole and not node.drop_remainder
                case StreamFlatMap():
                    self._layers.append(("next_index_in_buffer", 0, whole))
                case StreamMapWithIndex():
                    self._layers.append(("counter", unit, whole))
                case StreamRandomMap():
                    self._layers.append(("index_for_rng", unit, whole))

    def of(self, state: dict[str, Any]) -> int:
        """Returns the position of the next record to read; says what is wrong with a state of another pipeline."""
        for key, _, _ in reversed(self._layers):
            field(state, key, int)
            state = field(state, "parent", dict)
        return field(state, "next_index", int)  # type: ignore[no-any-return]

    def initial(self) -> dict[str, Any]:
        """Returns the state before the first element."""
        state: dict[str, Any] = {"next_index": 0}
        for key, _, _ in self._layers:
            state = {"parent": state, key: 0}
        return state

    def moved(self, state: dict[str, Any], position: int) -> dict[str, Any]:
        """Returns the state at `position`, between two outputs, of a run that was in `state` before."""
        if not self._layers:
            return {"next_index": position}
        numbers = []
        for key, _, _ in reversed(self._layers):
            numbers.append(state[key])
            state = state["parent"]
        passed = position - state["next_index"]
        moved: dict[str, Any] = {"next_index": position}
        for key, unit, whole in self._layers:
            number = numbers.pop()
            if not unit:
                number = 0
            elif unit == 1 and key == "index_for_rng":
                number = position  # before any batch a record's generator is that of its position
            else:
                number += -(-passed // unit) if whole else passed // unit
            moved = {"parent": moved, key: number}
        return moved
