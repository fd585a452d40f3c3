"""Marks in a pipeline that say who computes what is above: worker processes, or a thread."""

from collections.abc import Callable
from typing import Any

from grain._src.frozen import frozen
from grain._src.nodes.base import Node
from grain._src.options import MultiprocessingOptions


@frozen
class ProcessPrefetch(Node):
    """What is above is computed by worker processes."""

    name = "mp_prefetch"
    transparent = True
    parent: Node
    options: MultiprocessingOptions
    worker_init_fn: Callable[[int, int], None] | None = None

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        return ()

    def describe(self) -> str:
        return f"{self.name}(num_workers={self.options.num_workers})"


@frozen
class ThreadPrefetch(Node):
    """What is above is computed ahead by one thread."""

    name = "thread_prefetch"
    transparent = True
    parent: Node
    buffer_size: int

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)
