"""tf.train.Example without TensorFlow: the wire format of this one message, read and written."""

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from grain._src.errors import SourceError

Feature: TypeAlias = list[bytes] | npt.NDArray[np.float32] | npt.NDArray[np.int64]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_BYTES_LIST, _FLOAT_LIST, _INT64_LIST = 1, 2, 3


def decode_example(record: bytes) -> dict[str, Feature]:
    """Returns the features of a serialized tf.train.Example: lists of bytes, float32 arrays, int64 arrays.

    >>> decode_example(encode_example({"label": [3], "name": [b"cat"]}))
    {'label': array([3]), 'name': [b'cat']}
    """
    view = memoryview(record)
    features: dict[str, Feature] = {}
    try:
        for number, message in _fields(view):
            if number == 1 and isinstance(message, memoryview):
                for entry_number, entry in _fields(message):
                    if entry_number == 1 and isinstance(entry, memoryview):
                        name, feature = _decode_entry(entry)
                        features[name] = feature
    except (IndexError, struct.error, UnicodeDecodeError, OverflowError, ValueError) as error:
        raise SourceError(f"not a tf.train.Example ({len(record)} bytes): {error}") from error
    return features


def _fields(view: memoryview) -> Iterator[tuple[int, "memoryview | int"]]:
    """Yields (field number, value): a view for what has a length or a fixed size, an int for a varint."""
    position, size = 0, len(view)
    while position < size:
        tag, position = _varint(view, position)
        kind = tag & 7
        if kind == _VARINT:
            value, position = _varint(view, position)
            yield tag >> 3, value
            continue
        if kind == _BYTES:
            length, position = _varint(view, position)
        elif kind == _FIXED64:
            length = 8
        elif kind == _FIXED32:
            length = 4
        else:
            raise ValueError(f"wire type {kind} at byte {position}")
        if position + length > size:
            raise ValueError(f"a field of {length} bytes at byte {position} goes past the end")
        yield tag >> 3, view[position : position + length]
        position += length


def _varint(view: memoryview, position: int) -> tuple[int, int]:
    byte = view[position]
    if byte < 0x80:
        return byte, position + 1
    value, shift = byte & 0x7F, 7
    while True:
        position += 1
        byte = view[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position + 1
        shift += 7
        if shift > 63:
            raise ValueError("a varint of more than ten bytes")


def _decode_entry(entry: memoryview) -> tuple[str, Feature]:
    name, feature = "", b""
    value = memoryview(feature)
    for number, field in _fields(entry):
        if isinstance(field, memoryview):
            if number == 1:
                name = str(field, "utf-8")
            elif number == 2:
                value = field
    return name, _decode_feature(value)


def _decode_feature(view: memoryview) -> Feature:
    result: Feature = []
    for number, message in _fields(view):
        if not isinstance(message, memoryview):
            continue
        if number == _BYTES_LIST:
            result = [bytes(value) for at, value in _fields(message) if at == 1 and isinstance(value, memoryview)]
        elif number == _FLOAT_LIST:
            result = _floats(message)
        elif number == _INT64_LIST:
            result = _integers(message)
    return result


def _floats(message: memoryview) -> npt.NDArray[np.float32]:
    pieces = [value for number, value in _fields(message) if number == 1 and isinstance(value, memoryview)]
    if any(len(piece) % 4 for piece in pieces):
        raise ValueError("a list of floats whose bytes are not a multiple of four")
    return np.frombuffer(b"".join(pieces), "<f4").astype(np.float32)


def _integers(message: memoryview) -> npt.NDArray[np.int64]:
    # Packed as one field by every current writer; older ones wrote a varint each.
    values: list[npt.NDArray[np.int64]] = []
    for number, value in _fields(message):
        if number == 1:
            values.append(_packed(value) if isinstance(value, memoryview) else _signed(value))
    if not values:
        return np.empty(0, np.int64)
    return values[0] if len(values) == 1 else np.concatenate(values)


def _signed(value: int) -> npt.NDArray[np.int64]:
    return np.array([value & 0xFFFF_FFFF_FFFF_FFFF], np.uint64).view(np.int64)


def _packed(view: memoryview) -> npt.NDArray[np.int64]:
    data = np.frombuffer(view, np.uint8)
    if not len(data):
        return np.empty(0, np.int64)
    if data[-1] >= 0x80:
        raise ValueError("a list of integers that ends within one")
    ends = np.flatnonzero(data < 0x80)
    starts = np.concatenate(([0], ends[:-1] + 1))
    places = np.arange(len(data)) - np.repeat(starts, ends - starts + 1)
    if places.max() > 9:
        raise ValueError("a varint of more than ten bytes")
    parts = (data & np.uint8(0x7F)).astype(np.uint64) << (places * 7).astype(np.uint64)
    return np.bitwise_or.reduceat(parts, starts).view(np.int64)


def encode_example(features: Mapping[str, Any]) -> bytes:
    """Returns a serialized tf.train.Example; strings and bytes, floats and integers are told apart by their type."""
    entries = b"".join(
        _message(1, _message(1, name.encode()) + _message(2, _encode_feature(name, features[name])))
        for name in sorted(features)
    )
    return _message(1, entries)


def _encode_feature(name: str, values: Any) -> bytes:
    if isinstance(values, (bytes, str)):
        values = [values]
    if isinstance(values, Sequence) and len(values) and isinstance(values[0], (bytes, str)):
        coded = (value.encode() if isinstance(value, str) else value for value in values)
        return _message(_BYTES_LIST, b"".join(_message(1, value) for value in coded))
    array = np.atleast_1d(np.asarray(values)).ravel()
    if array.dtype.kind == "f":
        return _message(_FLOAT_LIST, _message(1, array.astype("<f4").tobytes()))
    if array.dtype.kind in "iub":
        unsigned = array.astype(np.int64).view(np.uint64).tolist()
        return _message(_INT64_LIST, _message(1, b"".join(map(_encode_varint, unsigned))))
    raise TypeError(f"feature {name!r} must hold bytes, str, floats or integers, got dtype {array.dtype}")


def _message(number: int, payload: bytes) -> bytes:
    return _encode_varint(number << 3 | _BYTES) + _encode_varint(len(payload)) + payload


def _encode_varint(value: int) -> bytes:
    coded = bytearray()
    while value > 0x7F:
        coded.append(value & 0x7F | 0x80)
        value >>= 7
    coded.append(value)
    return bytes(coded)
