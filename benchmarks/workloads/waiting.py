"""A source that waits some milliseconds a read, as storage over a network does; what it reads may have to be decoded."""

import dataclasses
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.data import batches
from benchmarks.metrics import RECORDS
from benchmarks.workload import Row
from benchmarks.workloads.workers import busy

WAIT, THREADS = 0.002, 16
ROWS = (
    Row("2 ms a read", RECORDS, {"workers": 0}, limit_times=THREADS),
    *(
        Row(
            f"2 ms a read, batches of {batch} from 2 workers",
            RECORDS,
            {"workers": 2, "batch": batch},
            batch,
            THREADS,
            longer=2,  # threads that read a batch each finish their batches at the same time, every 0.13 s
        )
        for batch in (64, 8)
    ),
    # As much of it fits into one second as the Python code, 0.2 ms of it, leaves room for; finding that out takes some time.
    Row(
        "1 ms a read, then Python, batches of 16",
        dataclasses.replace(RECORDS, rounds=1),
        {"workers": 0, "batch": 16, "wait": 0.001, "steps": 4_000},
        16,
        6,
        only=("ours", "reference", "limit"),
        longer=20,
    ),
)


class Remote:
    def __init__(self, wait: float = WAIT, steps: int = 0) -> None:
        self._wait = wait
        self._steps = steps

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, index: int) -> int:
        time.sleep(self._wait)
        return busy(index, self._steps)


def with_grain(grain: Any, run: Any, workers: int, batch: int = 0, **remote: Any) -> Any:
    ds = grain.MapDataset.source(Remote(**remote)).shuffle(seed=1)
    return run(ds.batch(batch) if batch else ds, workers)


def with_torch(_data: Any, run: Any, workers: int, batch: int = 0) -> Any:
    return run(Remote(), workers, batch_size=batch or None, shuffle=True)


def with_spdl(spdl: Any, workers: int, batch: int = 0) -> Iterator[Any]:
    """Its way is threads in one process, so it has as many for all workers."""
    threads = THREADS * max(workers, 1)
    builder = spdl.PipelineBuilder().add_source(range(10**6)).pipe(Remote().__getitem__, concurrency=threads)
    builder = builder.aggregate(batch) if batch else builder
    pipeline = builder.add_sink(64).build(num_threads=threads)
    with pipeline.auto_stop():
        yield from pipeline


def bare(workers: int, batch: int = 0, **remote: Any) -> Iterator[Any]:
    del workers
    reads = map(Remote(**remote).__getitem__, range(10**6))
    return batches(reads, batch) if batch else reads
