"""Options of worker processes, and arrays in shared memory."""

from grain._src.options import MultiprocessingOptions
from grain._src.transport.shared_array import SharedMemoryArray, SharedMemoryArrayMetadata

__all__ = ["MultiprocessingOptions", "SharedMemoryArray", "SharedMemoryArrayMetadata"]
