"""Files read from beginning to end: Parquet, TFRecord and JSON lines, against the plain reader of each format."""

import json
import struct
from collections.abc import Iterator
from typing import Any

from pyarrow import parquet

from benchmarks.data import path
from benchmarks.metrics import EPOCH
from benchmarks.tfrecord import masked_crc
from benchmarks.workload import Row

ROWS = (
    Row("Parquet", EPOCH, {"form": "parquet"}, defaults=True),
    Row("TFRecord", EPOCH, {"form": "tfrecord"}, defaults=True),
    Row("JSON lines", EPOCH, {"form": "jsonl"}, only=("ours", "limit")),
)


def with_grain(grain: Any, run: Any, form: str) -> Any:
    file = path(f"examples.{form}")
    if form == "parquet":
        return grain.experimental.ParquetIterDataset(file)
    if form == "tfrecord":
        return grain.experimental.TFRecordIterDataset(file)
    return run(grain.MapDataset.source(grain.sources.JsonLinesDataSource(file)))


def bare(form: str) -> Iterator[Any]:
    if form == "parquet":
        for batch in parquet.ParquetFile(path("examples.parquet")).iter_batches():
            yield from batch.to_pylist()
    elif form == "tfrecord":
        with open(path("examples.tfrecord"), "rb") as file:
            while header := file.read(12):
                (length,) = struct.unpack_from("<Q", header)
                payload = file.read(length)
                if masked_crc(header[:8]) != header[8:] or masked_crc(payload) != file.read(4):
                    raise ValueError("a checksum does not fit")
                yield payload
    else:
        with open(path("examples.jsonl"), "rb") as file:
            yield from map(json.loads, file)
