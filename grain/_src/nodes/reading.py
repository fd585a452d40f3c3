"""Who reads the elements of a block: the thread that asks for them, or several for it."""

import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from grain._src.indexing.permutation import IndexArray
from grain._src.nodes.base import MapNode

Read: TypeAlias = Callable[[MapNode, IndexArray], Iterator[Any]]

_here = threading.local()


def stream(node: MapNode, indices: IndexArray) -> Iterator[Any]:
    """Returns the elements of `node` at `indices`, read by whoever reads for this thread."""
    read: Read | None = getattr(_here, "read", None)
    return node.stream(indices) if read is None else read(node, indices)


def set_reader(read: Read | None) -> None:
    """Has `read` read for this thread from now on; None: it reads for itself."""
    _here.read = read
