"""Files and elements that the workloads read, made once from fixed seeds, so that all contestants read the same.

What writes a format is imported where it is written: only the environment that writes the files has it.
"""

import functools
import io
import json
import struct
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.environments import CACHE

DATA = CACHE / "data"
RECORDS, RECORD_BYTES = 50_000, 512
LINES = 20_000


def repeated(elements: list[Any], length: int) -> list[Any]:
    """A long list of few elements: an epoch that outlasts a measurement, without the memory."""
    return (elements * (length // len(elements) + 1))[:length]


def batches(elements: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Full lists of `size` elements."""
    iterator = iter(elements)
    while len(batch := list(islice(iterator, size))) == size:
        yield batch


@functools.cache
def digits() -> list[dict[str, Any]]:
    """Labelled 28×28 images, a million of them (ten thousand different ones)."""
    images = np.random.default_rng(0).integers(0, 256, (10_000, 28, 28), dtype=np.uint8)
    return repeated([{"image": image, "label": i % 10} for i, image in enumerate(images)], 10**6)


@functools.cache
def documents() -> list[str]:
    """Texts of 5 to 200 words of a vocabulary with a long tail."""
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{w}" for w in rng.zipf(1.3, rng.integers(5, 200)) % 30_000) for _ in range(5_000)]
    return repeated(texts, 10**6)


@functools.cache
def token_lists() -> list[dict[str, Any]]:
    """Documents as token arrays of 5 to 200 tokens."""
    rng = np.random.default_rng(0)
    return repeated([{"tokens": rng.integers(1, 30_000, rng.integers(5, 200))} for _ in range(20_000)], 10**6)


@functools.cache
def jpegs() -> list[bytes]:
    """Encoded images of 320×280, some hundred thousand (256 different ones)."""
    packed = (DATA / "images.bin").read_bytes()
    (count,) = struct.unpack_from("<Q", packed)
    ends = np.frombuffer(packed, "<u8", count + 1, 8)
    start = 8 * (count + 2)
    return repeated([packed[start + a : start + b] for a, b in pairwise(ends)], 100_000)


def path(name: str) -> str:
    return str(DATA / name)


def _write_jpegs(target: Path) -> None:
    from PIL import Image

    rng, encoded = np.random.default_rng(0), []
    for _ in range(256):
        coarse = Image.fromarray(rng.integers(0, 256, (28, 32, 3), dtype=np.uint8)).resize((320, 280))
        pixels = np.asarray(coarse).astype(np.int16) + rng.integers(-12, 13, (280, 320, 3))
        buffer = io.BytesIO()
        Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(buffer, "JPEG", quality=85)
        encoded.append(buffer.getvalue())
    ends = np.cumsum([0, *map(len, encoded)], dtype="<u8")
    target.write_bytes(struct.pack("<Q", len(encoded)) + ends.tobytes() + b"".join(encoded))


def _write_array_record(target: Path) -> None:
    from array_record.python import array_record_module

    writer = array_record_module.ArrayRecordWriter(str(target), "group_size:1")
    for record in np.random.default_rng(0).integers(0, 256, (RECORDS, RECORD_BYTES), dtype=np.uint8):
        writer.write(record.tobytes())
    writer.close()


def _examples() -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [{"id": i, "score": float(rng.random()), "text": " ".join(["word"] * 20)} for i in range(LINES)]


def _write_parquet(target: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(_examples()), target, row_group_size=2_000)


def _write_json_lines(target: Path) -> None:
    target.write_text("".join(json.dumps(example) + "\n" for example in _examples()))


def _write_tfrecord(target: Path) -> None:
    from benchmarks.tfrecord import masked_crc

    with target.open("wb") as file:
        for example in _examples():
            payload = json.dumps(example).encode()
            length = struct.pack("<Q", len(payload))
            file.write(length + masked_crc(length) + payload + masked_crc(payload))


_FILES = {
    "images.bin": _write_jpegs,
    "records.array_record": _write_array_record,
    "examples.parquet": _write_parquet,
    "examples.jsonl": _write_json_lines,
    "examples.tfrecord": _write_tfrecord,
}


def prepare() -> list[str]:
    """Writes the files that are missing, each whole or not at all; answers with what was written."""
    DATA.mkdir(parents=True, exist_ok=True)
    missing = [name for name in _FILES if not (DATA / name).exists()]
    for name in missing:
        part = DATA / f"{name}.part"
        _FILES[name](part)
        part.rename(DATA / name)
    return missing
