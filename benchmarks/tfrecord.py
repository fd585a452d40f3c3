"""The checksum of the TFRecord format."""

import struct

import google_crc32c


def masked_crc(payload: bytes) -> bytes:
    crc = google_crc32c.value(payload)
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)
