"""Runs a stage inline between two positions: what a worker does with a block."""

from collections.abc import Sequence
from typing import Any

from grain._src.engine.inline import BLOCK_RECORDS, InlineReader
from grain._src.engine.plan import Stage
from grain._src.engine.reader import ReaderIterator
from grain._src.nodes.steps import StreamFilter
from grain._src.nodes.stream import DatasetIterator, StreamNode


class Outcome:
    """What a block gave.

    Args:
      elements: the outputs before the error, if any.
      marks: where the stage was after each output: positions, or whole states for a grouped stage; None if each took
        one unit.
      error: what was raised after the outputs.
      state: where the stage is after the error.
      holes: whether there were holes although the stage relies on none.
    """

    __slots__ = ("elements", "error", "holes", "marks", "state")

    def __init__(self) -> None:
        self.elements: list[Any] = []
        self.marks: Sequence[Any] | None = None
        self.error: BaseException | None = None
        self.state: dict[str, Any] | None = None
        self.holes = False


class LocalStage:
    """A stage that is kept ready and sent from block to block."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._reader = InlineReader(stage.root.parent, BLOCK_RECORDS)
        self._root = ReaderIterator(stage.root.parent, self._reader, stage.root.allow_nones)
        iterator: DatasetIterator[Any] = self._root
        for node in stage.chain[1:]:
            assert isinstance(node, StreamNode)
            iterator = node.build([iterator])
        self._iterator = iterator
        self._marked = stage.grouped or any(isinstance(node, StreamFilter) for node in stage.chain)

    def run(self, state: dict[str, Any], stop: int) -> Outcome:
        """Returns the outputs from `state` on whose records come before position `stop`."""
        outcome = Outcome()
        self._reader.stop = stop
        self._iterator.set_state(state)
        start = self._root.position
        holes = self._root.holes = []
        try:
            if self._marked:
                outcome.marks = []
                self._run_marking(outcome.elements, outcome.marks)
            else:
                outcome.elements.extend(self._iterator)
        except Exception as error:
            outcome.error = error
            outcome.state = self._iterator.get_state()
        if holes and not self._marked:
            outcome.holes = self._stage.dense
            kept = sorted(set(range(start, stop)).difference(holes))
            outcome.marks = [position + 1 for position in kept[: len(outcome.elements)]]
        return outcome

    def _run_marking(self, elements: list[Any], marks: list[Any]) -> None:
        root, iterator, grouped = self._root, self._iterator, self._stage.grouped
        for element in iterator:
            elements.append(element)
            marks.append(iterator.get_state() if grouped else root.position)
