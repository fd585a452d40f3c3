"""Where stacked arrays are put: ordinary memory, or memory that another process can see."""

import threading

from grain._src.trees import Allocate

_here = threading.local()


def allocator() -> Allocate | None:
    """Returns what makes the arrays of this thread's batches; None for ordinary memory."""
    return getattr(_here, "allocate", None)


def set_allocator(allocate: Allocate | None) -> None:
    """Makes the batches that this thread stacks from now on live where `allocate` puts them."""
    _here.allocate = allocate
