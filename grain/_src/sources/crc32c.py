"""CRC-32C, the checksum of TFRecord files: by google-crc32c where it is installed, else with NumPy."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

_POLYNOMIAL = 0x82F63B78
_SHORT = 2048
_MASK_DELTA = 0xA282EAD8

Words = npt.NDArray[np.uint32]


@functools.cache
def checksum_function() -> Callable[[bytes], int]:
    """Returns the fastest CRC-32C there is."""
    try:
        import google_crc32c
    except ImportError:
        return crc32c
    return google_crc32c.value  # type: ignore[no-any-return]


def mask(checksum: int) -> int:
    """Returns the checksum as TFRecord stores it, so that checksums of data with checksums stay good."""
    return (((checksum >> 15) | (checksum << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def mask_all(checksums: Words) -> Words:
    """Returns each of the checksums as `mask` does."""
    return ((checksums >> np.uint32(15)) | (checksums << np.uint32(17))) + np.uint32(_MASK_DELTA)


@functools.cache
def _table() -> Words:
    values = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        values = (values >> np.uint32(1)) ^ np.where(values & 1, np.uint32(_POLYNOMIAL), np.uint32(0))
    return values


@functools.cache
def _table_list() -> list[int]:
    return _table().tolist()  # type: ignore[no-any-return]


def crc32c(data: bytes) -> int:
    """Returns the CRC-32C of `data` without any compiled package: about 100 MB/s for long data."""
    if len(data) < _SHORT:
        table, value = _table_list(), 0xFFFFFFFF
        for byte in data:
            value = table[(value ^ byte) & 0xFF] ^ (value >> 8)
        return value ^ 0xFFFFFFFF
    return _long(np.frombuffer(data, np.uint8))


def _long(data: npt.NDArray[np.uint8]) -> int:
    """Rows of the data are worked on side by side, then folded: a checksum is linear in its data."""
    columns = 1 << max(4, (len(data).bit_length() // 2) - 2)
    rows = 1 << (-(-len(data) // columns) - 1).bit_length()
    # Zeros in front change nothing while the register is zero, so the initial value goes into the first four bytes.
    padded = np.zeros(rows * columns, np.uint8)
    padded[-len(data) :] = data
    padded[len(padded) - len(data) :][:4] ^= 0xFF
    table = _table()
    state = np.zeros(rows, np.uint32)
    by_column = np.ascontiguousarray(padded.reshape(rows, columns).T).astype(np.uint32)
    for column in by_column:
        state = table[(state ^ column) & 0xFF] ^ (state >> np.uint32(8))
    shift = _shift_tables(columns)
    while len(state) > 1:
        state = _apply(shift, state[0::2]) ^ state[1::2]
        shift = _apply(shift, shift.ravel()).reshape(4, 256)
    return int(state[0]) ^ 0xFFFFFFFF


@functools.cache
def _shift_tables(count: int) -> Words:
    """Returns what `count` zero bytes make of each value of each of the register's four bytes."""
    states = (np.arange(256, dtype=np.uint32) << (np.arange(4, dtype=np.uint32) * 8)[:, None]).ravel()
    table: Any = _table()
    for _ in range(count):
        states = table[states & 0xFF] ^ (states >> np.uint32(8))
    return states.reshape(4, 256)


def _apply(shift: Words, states: Words) -> Words:
    return (  # type: ignore[no-any-return]
        shift[0][states & 0xFF]
        ^ shift[1][(states >> np.uint32(8)) & 0xFF]
        ^ shift[2][(states >> np.uint32(16)) & 0xFF]
        ^ shift[3][states >> np.uint32(24)]
    )
