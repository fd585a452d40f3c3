"""Worker processes: small elements through two, and processor-bound work on none to eight."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from benchmarks.metrics import RECORDS
from benchmarks.workload import Row
from benchmarks.workloads.cheap import LENGTH, increment

# By where its memory lies a process runs such a function up to a fifth slower than another, from its start to its end.
BUSY = dataclasses.replace(RECORDS, fresh=True)
ROWS = (
    Row("ints from 2 workers", RECORDS, {"workers": 2, "busy": False}, only=("ours", "reference", "torch")),
    *(
        Row(
            f"busy function, {count} worker{'s' * (count != 1)}",
            BUSY,
            {"workers": count, "busy": True},
            short=count < 4,
            longer=1 if count else 4,  # sixteen threads take turns, and finish together
        )
        for count in (0, 1, 2, 4, 8)
    ),
)


def busy(x: int, steps: int = 20_000) -> int:
    """Work that holds the interpreter lock, about a millisecond of it."""
    for _ in range(steps):
        x = (x * 31 + 7) % 65_521
    return x


def with_grain(grain: Any, run: Any, workers: int, busy: bool) -> Any:
    return run(grain.MapDataset.range(LENGTH).shuffle(seed=1).map(_function(busy)), workers)


def _function(is_busy: bool) -> Any:
    return busy if is_busy else increment


class Mapped:
    def __init__(self, is_busy: bool) -> None:
        self._function = _function(is_busy)

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        return self._function(index)


def with_torch(_data: Any, run: Any, workers: int, busy: bool) -> Any:
    return run(Mapped(busy), workers, batch_size=None, shuffle=True)


def bare(workers: int, busy: bool) -> Iterator[int]:
    del workers
    return map(_function(busy), range(LENGTH))
