"""Makes the iterators of all processes end at the same step, so that nobody waits in a collective for who has gone."""

import json
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Any

from grain._src import arguments
from grain._src.interop.jax_processes import agree_on_minimum
from grain._src.nodes.stream import DatasetIterator


def end_together(
    iterator: Any, *, every: int = 1, agree: Callable[[int], int] = agree_on_minimum
) -> "TogetherIterator":
    """Returns an iterator that ends, in all JAX processes, when the first of theirs ends.

    Use it where the processes cannot know how many batches the others have: after a filter, packing or a flat map. Where
    they can, `drop_remainder=True` in the `ShardOptions` and the `Batch` is enough and costs nothing.

    >>> list(end_together(iter([1, 2, 3])))  # with one process it ends where the iterator ends
    [1, 2, 3]

    Args:
      iterator: `iter()` of a dataset or loader, or one of these itself; each process passes its own.
      every: after how many elements the processes agree again; this many are read ahead at once.
      agree: returns the least of the numbers that the processes pass; by default JAX does it.
    """
    rounds = arguments.positive("every", every)
    return TogetherIterator(arguments.iterator("iterator", iterator), rounds, arguments.function("agree", agree))


class TogetherIterator(DatasetIterator[Any]):
    """Its state is that of the iterator, as a dict."""

    def __init__(self, iterator: Any, every: int, agree: Callable[[int], int]) -> None:
        super().__init__()
        self._iterator = iterator
        self._every = every
        self._agree = agree
        self._restart()

    def _restart(self) -> None:
        self._ready: deque[tuple[Any, Any]] = deque()
        self._ended = False
        self._state = self._state_now()

    def _state_now(self) -> Any:
        return self._iterator.get_state() if hasattr(self._iterator, "get_state") else None

    def __next__(self) -> Any:
        if not self._ready and not self._ended:
            self._read_round()
        if not self._ready:
            raise StopIteration
        element, self._state = self._ready.popleft()
        return element

    def _read_round(self) -> None:
        round_: list[tuple[Any, Any]] = []
        try:
            for element in islice(self._iterator, self._every):
                round_.append((element, self._state_now()))
        except Exception:
            self._agree(-1)  # the others are waiting for an answer
            raise
        count = self._agree(len(round_))
        if count < 0:
            raise RuntimeError("another process failed while it read its data; see its error")
        self._ended = count < self._every
        self._ready.extend(round_[:count])

    def get_state(self) -> dict[str, Any]:
        state = self._state
        return json.loads(state) if isinstance(state, bytes) else state  # type: ignore[no-any-return]

    def set_state(self, state: dict[str, Any]) -> None:
        as_bytes = isinstance(self._state, bytes)
        self._iterator.set_state(json.dumps(state, indent=4).encode() if as_bytes else state)
        self._restart()

    def start_prefetch(self) -> None:
        if hasattr(self._iterator, "start_prefetch"):
            self._iterator.start_prefetch()

    def close(self) -> None:
        self._ready.clear()
        self._ended = True
        if hasattr(self._iterator, "close"):
            self._iterator.close()
