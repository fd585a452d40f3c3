"""An array in memory as the source: rows of 16 floats, shuffled, batches of 512."""

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.metrics import RECORDS
from benchmarks.workload import Row

LENGTH, BATCH = 10**6, 512
ROWS = (Row("shuffle, batches of 512", RECORDS, scale=BATCH),)


@functools.cache
def rows() -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).random((LENGTH, 16), dtype=np.float32)


def with_grain(grain: Any, run: Any) -> Any:
    return run(grain.MapDataset.source(rows()).shuffle(seed=1).batch(BATCH))


class Rows:
    """A torch dataset that answers a whole batch at once, torch's fastest way."""

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        return rows()[index]

    def __getitems__(self, indices: list[int]) -> Any:
        return rows()[indices]


def with_torch(_data: Any, run: Any) -> Any:
    return run(Rows(), batch_size=BATCH, shuffle=True)


@functools.cache
def _table(datasets: Any) -> Any:
    return datasets.Dataset.from_dict({"row": rows()}).with_format("numpy")


def with_datasets(datasets: Any) -> Any:
    return _table(datasets).shuffle(seed=1).iter(BATCH)


def bare() -> Iterator[Any]:
    order, source = np.random.default_rng(1).permutation(LENGTH), rows()
    return (source[order[start : start + BATCH]] for start in range(0, LENGTH - BATCH, BATCH))
