"""What holds for a whole pipeline while it is being started: its options, and who computes."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

from grain._src.frozen import Frozen, frozen
from grain._src.options import DatasetOptions


@frozen
class RunContext(Frozen):
    """Set by the transformations below, read by those above as they start.

    Args:
      options: the options that `WithOptionsIterDataset` gave.
      workers: the pool of processes that `mp_prefetch` started, or None.
      threads: how many threads read at the least, since `mp_prefetch` asks for so many workers and threads serve as well.
      observer: called with each node that is started here and what runs it; what it returns runs in its place. None, and
        then nothing is called, unless somebody wants to measure.
    """

    options: DatasetOptions = dataclasses.field(default_factory=DatasetOptions)
    workers: Any = None
    threads: int = 0
    observer: Callable[[Any, Any], Any] | None = None


_current: ContextVar[RunContext] = ContextVar("grain_run_context", default=RunContext())  # noqa: B039 - it is frozen


def current() -> RunContext:
    """Returns the context in which a pipeline is being started."""
    return _current.get()


@contextlib.contextmanager
def using(context: RunContext) -> Iterator[None]:
    """Starts what is started within the block in `context`."""
    token = _current.set(context)
    try:
        yield
    finally:
        _current.reset(token)
