"""Window shuffle: elements shuffled within windows of 1,000."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.metrics import RECORDS
from benchmarks.workload import Row
from benchmarks.workloads.cheap import LENGTH, increment

WINDOW = 1_000
ROWS = (
    Row("of a MapDataset", RECORDS, {"stream": False}),
    Row("of an IterDataset", RECORDS, {"stream": True}),
)


def with_grain(grain: Any, run: Any, stream: bool) -> Any:
    ds = grain.MapDataset.range(LENGTH).map(increment)
    if stream:
        return grain.experimental.WindowShuffleIterDataset(run(ds), window_size=WINDOW, seed=1)
    return run(grain.experimental.WindowShuffleMapDataset(ds, window_size=WINDOW, seed=1))


def with_datasets(datasets: Any, stream: bool) -> Any:
    del stream
    return datasets.Dataset.from_dict({"x": range(100_000)}).to_iterable_dataset().shuffle(seed=1, buffer_size=WINDOW)


def bare(stream: bool) -> Iterator[int]:
    del stream
    rng = np.random.default_rng(1)
    for start in range(0, LENGTH, WINDOW):
        yield from map(increment, (start + rng.permutation(WINDOW)).tolist())
