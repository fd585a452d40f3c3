"""ArrayRecord: 50,000 records of 512 bytes, read in shuffled order."""

import dataclasses
import functools
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from array_record.python import array_record_module

from benchmarks.data import RECORDS as LENGTH
from benchmarks.data import path
from benchmarks.metrics import RECORDS as PER_SECOND
from benchmarks.workload import Row

FILE = "records.array_record"
# A reader that was opened here would not survive the fork of torch's workers.
RECORDS = dataclasses.replace(PER_SECOND, fresh=True)
ROWS = (
    Row("element by element", RECORDS),
    Row("batches of 256", RECORDS, {"batch": 256}, scale=256),
)


def decode(record: bytes) -> np.ndarray[Any, Any]:
    return np.frombuffer(record, np.uint8)


def with_grain(grain: Any, run: Any, batch: int = 0) -> Any:
    ds = grain.MapDataset.source(grain.sources.ArrayRecordDataSource(path(FILE))).shuffle(seed=1).map(decode)
    return run(ds.batch(batch) if batch else ds)


@functools.cache
def _reader(_process: int) -> Any:
    return array_record_module.ArrayRecordReader(path(FILE), "readahead_buffer_size:0")


def reader() -> Any:
    """One a process: a reader does not survive a fork."""
    return _reader(os.getpid())


class Records:
    """A torch dataset that reads a batch in one call, torch's fastest way."""

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [decode(record).copy() for record in reader().read(indices)]


def with_torch(_data: Any, run: Any, batch: int = 0) -> Any:
    return run(Records(), batch_size=batch or None, shuffle=True)


def bare(batch: int = 0) -> Iterator[Any]:
    order, size = np.random.default_rng(1).permutation(LENGTH).tolist(), batch or 256
    for start in range(0, LENGTH - size, size):
        decoded = list(map(decode, reader().read(order[start : start + size])))
        if batch:
            yield np.array(decoded)
        else:
            yield from decoded
