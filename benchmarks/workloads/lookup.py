"""Random access: `ds[i]`, one index at a time."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.metrics import RECORDS
from benchmarks.workload import Row
from benchmarks.workloads.cheap import LENGTH, increment

ROWS = (Row("ds[i] of shuffle and map", RECORDS, defaults=True),)


def with_grain(grain: Any, _run: Any) -> Iterator[int]:
    ds = grain.MapDataset.range(LENGTH).shuffle(seed=1).map(increment)
    return map(ds.__getitem__, range(LENGTH))


def bare() -> Iterator[int]:
    order = np.random.default_rng(1).permutation(LENGTH).tolist()
    return (increment(order[i]) for i in range(LENGTH))
