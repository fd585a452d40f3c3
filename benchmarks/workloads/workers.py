"""Worker processes: small elements through two, and processor-bound work on none to eight."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from benchmarks.metrics import EPOCH, RECORDS
from benchmarks.workload import Row
from benchmarks.workloads.cheap import LENGTH, increment

# By where its memory lies a process runs such a function up to a fifth slower than another, from its start to its end.
BUSY = dataclasses.replace(RECORDS, fresh=True)
# Threads that take turns fall behind and catch up: what they had ready before counts as if it were made while they are
# measured, which gave more records than the bare loop makes. In a whole epoch there is nothing before.
BUSY_EPOCH = dataclasses.replace(EPOCH, fresh=True)
EPOCH_LENGTH = 1500
ROWS = (
    Row("ints from 2 workers", RECORDS, {"workers": 2, "busy": False}, only=("ours", "reference", "torch")),
    *(
        Row(
            f"busy function, {count} worker{'s' * (count != 1)}",
            BUSY if count else BUSY_EPOCH,
            {"workers": count, "busy": True, "length": LENGTH if count else EPOCH_LENGTH},
            short=count < 4,
        )
        for count in (0, 1, 2, 4, 8)
    ),
)


def busy(x: int, steps: int = 20_000) -> int:
    """Work that holds the interpreter lock, about a millisecond of it."""
    for _ in range(steps):
        x = (x * 31 + 7) % 65_521
    return x


def with_grain(grain: Any, run: Any, workers: int, busy: bool, length: int = LENGTH) -> Any:
    return run(grain.MapDataset.range(length).shuffle(seed=1).map(_function(busy)), workers)


def _function(is_busy: bool) -> Any:
    return busy if is_busy else increment


class Mapped:
    def __init__(self, is_busy: bool, length: int) -> None:
        self._function = _function(is_busy)
        self._length = length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> Any:
        return self._function(index)


def with_torch(_data: Any, run: Any, workers: int, busy: bool, length: int = LENGTH) -> Any:
    return run(Mapped(busy, length), workers, batch_size=None, shuffle=True)


def bare(workers: int, busy: bool, length: int = LENGTH) -> Iterator[int]:
    del workers
    return map(_function(busy), range(length))
