"""Setting a Philox generator to a place in its numbers, which is done for every element of a random map.

Setting `Philox.state` takes about a microsecond. Writing the same values into the generator's memory takes a seventh of
that; it is done only if the memory turns out to look as expected.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

Seek: TypeAlias = Callable[[int, int, int], None]

_COUNTER = struct.Struct("=4Q")
_KEY = struct.Struct("=2Q")
# Where NumPy keeps what: pointers to counter and key, then these. A position of 4 says that the buffer is used up.
_POINTERS_BYTES = 16
_REST = struct.pack("=i4x4QiI", 4, 0, 0, 0, 0, 0, 0)  # position, buffer, whether half a word is left, and that half


class SeekablePhilox:
    """A generator and how to go to a place in its numbers.

    >>> philox = SeekablePhilox((7, 0))
    >>> philox.seek(0, 0, 5)
    >>> first = philox.generator.integers(1 << 60)
    >>> philox.seek(0, 0, 5)
    >>> bool(first == philox.generator.integers(1 << 60))
    True
    """

    __slots__ = ("generator", "seek")

    def __init__(self, key: tuple[int, int]) -> None:
        bits = np.random.Philox(key=np.array(key, np.uint64))
        self.generator = np.random.Generator(bits)
        self.seek: Seek = (_seek_in_memory if _layout_is_known() else _seek_by_state)(bits, key[1])
        """Goes to (first word of the key, third word of the counter, last word of the counter)."""


def key_of(seed: int) -> tuple[int, int]:
    """Returns the key that NumPy derives from a seed."""
    first, second = np.random.Philox(seed).state["state"]["key"].tolist()
    return first, second


def _seek_by_state(bits: Any, second: int) -> Seek:
    counter, keys = np.zeros(4, np.uint64), np.array([0, second], np.uint64)
    state = {
        "bit_generator": "Philox",
        "state": {"counter": counter, "key": keys},
        "buffer": np.zeros(4, np.uint64),
        "buffer_pos": 4,
        "has_uint32": 0,
        "uinteger": 0,
    }

    def seek(key: int, third: int, last: int) -> None:
        keys[0] = key
        counter[2] = third
        counter[3] = last
        bits.state = state

    return seek


def _seek_in_memory(bits: Any, second: int) -> Seek:
    address = bits.ctypes.state_address
    counter_at, key_at = (ctypes.c_uint64 * 2).from_address(address)
    counter = _memory(counter_at, _COUNTER.size)
    keys = _memory(key_at, _KEY.size)
    rest = _memory(address + _POINTERS_BYTES, len(_REST))
    pack, clean, current = _COUNTER.pack_into, _REST, -1

    def seek(key: int, third: int, last: int, bits: Any = bits) -> None:  # it keeps alive what it writes to
        nonlocal current
        if key != current:
            _KEY.pack_into(keys, 0, key, second)
            current = key
        pack(counter, 0, 0, 0, third, last)
        rest[:] = clean

    return seek


def _memory(address: int, size: int) -> memoryview:
    return memoryview((ctypes.c_char * size).from_address(address)).cast("B")


@functools.cache
def _layout_is_known() -> bool:
    """Whether what the memory holds is what the state says, in a state all of whose words differ."""
    counter, key, buffer = [11, 12, 13, 14], [21, 22], [31, 32, 33, 34]
    bits = np.random.Philox(0)
    bits.state = {
        "bit_generator": "Philox",
        "state": {"counter": np.array(counter, np.uint64), "key": np.array(key, np.uint64)},
        "buffer": np.array(buffer, np.uint64),
        "buffer_pos": 2,
        "has_uint32": 1,
        "uinteger": 41,
    }
    try:
        home, end = id(bits), id(bits) + type(bits).__basicsize__
        address = bits.ctypes.state_address
        if not home <= address <= end - _POINTERS_BYTES - len(_REST):
            return False
        counter_at, key_at = (ctypes.c_uint64 * 2).from_address(address)
        if not (home <= counter_at <= end - _COUNTER.size and home <= key_at <= end - _KEY.size):
            return False
        return (
            bytes(_memory(address + _POINTERS_BYTES, len(_REST))) == struct.pack("=i4x4QiI", 2, *buffer, 1, 41)
            and bytes(_memory(counter_at, _COUNTER.size)) == _COUNTER.pack(*counter)
            and bytes(_memory(key_at, _KEY.size)) == _KEY.pack(*key)
        )
    except (AttributeError, TypeError, ValueError):  # another NumPy, another interpreter
        return False
