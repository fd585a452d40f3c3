"""Options of worker processes, and arrays in shared memory."""

from typing import TYPE_CHECKING, Any

from grain._src.options import MultiprocessingOptions

if TYPE_CHECKING:
    from grain._src.transport.shared_array import SharedMemoryArray, SharedMemoryArrayMetadata

__all__ = ["MultiprocessingOptions", "SharedMemoryArray", "SharedMemoryArrayMetadata"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Most come for the options; named shared memory brings much of the standard library along.
    from grain._src.transport import shared_array

    return getattr(shared_array, name)


def __dir__() -> list[str]:
    return sorted(__all__)
