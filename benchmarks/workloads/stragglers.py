"""Stragglers: one element in fifty takes fifty times longer, two workers.

Each fifty have exactly one, always at another place: with a shuffle, how many a short run meets would be luck.
"""

from collections.abc import Iterator
from typing import Any

from benchmarks.metrics import RECORDS
from benchmarks.workload import Row
from benchmarks.workloads.workers import busy

LENGTH, STEPS = 10**6, 2_000
ROWS = (Row("1 in 50 is 50× slower", RECORDS, {"workers": 2}, longer=2),)  # buffers of 64 take a while to empty


def uneven(x: int) -> int:
    fifty, place = divmod(x, 50)
    return busy(x, 50 * STEPS if place == fifty * 37 % 50 else STEPS)


def with_grain(grain: Any, run: Any, workers: int) -> Any:
    return run(grain.MapDataset.range(LENGTH).map(uneven), workers, buffer=64)


class Uneven:
    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> int:
        return uneven(index)


def with_torch(_data: Any, run: Any, workers: int) -> Any:
    return run(Uneven(), workers, batch_size=None, prefetch_factor=64)


def bare(workers: int) -> Iterator[int]:
    del workers
    return map(uneven, range(LENGTH))
