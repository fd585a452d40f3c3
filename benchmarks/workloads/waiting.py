"""A source that waits 2 ms a read, as storage over a network does."""

import time
from collections.abc import Iterator
from typing import Any

from benchmarks.metrics import RECORDS
from benchmarks.workload import Row

WAIT, THREADS = 0.002, 16
ROWS = (Row("2 ms a read", RECORDS, limit_times=THREADS),)


class Remote:
    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, index: int) -> int:
        time.sleep(WAIT)
        return index


def with_grain(grain: Any, run: Any) -> Any:
    return run(grain.MapDataset.source(Remote()).shuffle(seed=1))


def with_torch(_data: Any, run: Any) -> Any:
    return run(Remote(), batch_size=None, shuffle=True)


def with_spdl(spdl: Any) -> Iterator[Any]:
    builder = spdl.PipelineBuilder().add_source(range(10**6)).pipe(Remote().__getitem__, concurrency=THREADS)
    pipeline = builder.add_sink(64).build(num_threads=THREADS)
    with pipeline.auto_stop():
        yield from pipeline


def bare() -> Iterator[int]:
    return map(Remote().__getitem__, range(10**6))
