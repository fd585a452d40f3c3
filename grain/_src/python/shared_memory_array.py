"""Where Keras 3 looks for the class of arrays that workers have yet to hand over."""

from grain._src.transport.shared_array import SharedMemoryArrayMetadata

__all__ = ["SharedMemoryArrayMetadata"]
