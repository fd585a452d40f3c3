"""Reads a stream some elements at a time, and knows its state between them."""

from collections.abc import Sequence
from itertools import islice
from time import perf_counter
from typing import Any

from grain._src.nodes.at_once import next_at_once
from grain._src.nodes.stream import DatasetIterator, Run, is_interrupt

_NOTHING = Run((), lambda _: {})


class Lookahead:
    """What was read of a stream; who takes some of the elements says so in `taken`."""

    def __init__(self, parent: DatasetIterator[Any]) -> None:
        self._parent = parent
        self.restart()

    def restart(self) -> None:
        """Forgets what was read: the stream is somewhere else."""
        self._run = _NOTHING
        self._at_once = 1
        self.taken = 0

    @property
    def elements(self) -> Sequence[Any]:
        """The last that were read."""
        return self._run.elements

    def state(self) -> dict[str, Any]:
        """Where the stream was after the elements that are taken."""
        return self._run.state_after(self.taken)

    def state_before(self, number: int) -> dict[str, Any]:
        """Where the stream was before the element of that number, from 0, of the last that were read."""
        return self._run.state_after(number)

    def more(self, sure: int) -> bool:
        """Reads on if all elements are taken; says whether there are others.

        Args:
          sure: how many of them will be taken whatever they are; nobody will ask for the state between those.
        """
        if self.taken < len(self._run.elements):
            return True
        self._raise_error()
        self._run = _NOTHING  # the next elements take the memory of the last, while it is in the cache
        self.taken = 0
        count = max(sure, self._at_once)
        began = perf_counter()
        run = self._parent.pull_run(count)
        self._at_once = next_at_once(self._at_once, count, perf_counter() - began)
        self._run = run or self._pull(sure)
        if self._run.error is not None and is_interrupt(self._run.error):
            self._raise_error()  # it does not wait
        return bool(self._run.elements)

    def _pull(self, sure: int) -> Run:
        """Reads from a stream that knows only where it is."""
        before = {} if sure else self._parent.get_state()
        elements: list[Any] = []
        error: BaseException | None = None
        try:
            elements.extend(islice(self._parent, max(1, sure)))
        except BaseException as raised:
            if not elements:
                raise
            error = raised
        return Run(elements, lambda _: before, error)

    def _raise_error(self) -> None:
        """Raises what was raised after the elements, once."""
        error, self._run.error = self._run.error, None
        if error is not None:
            raise error
