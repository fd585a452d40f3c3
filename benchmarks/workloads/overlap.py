"""A training step that waits, as for an accelerator, beside a function that holds the interpreter lock."""

import time
from collections.abc import Iterator
from typing import Any

from benchmarks.metrics import RECORDS
from benchmarks.workload import Row
from benchmarks.workloads.workers import busy

LENGTH = 10**6
# The function takes some two milliseconds, or four, and less on a fast machine.
ROWS = (
    Row("2 ms of work, steps of 1 ms", RECORDS, {"steps": 40_000, "step": 0.001}, only=("ours", "reference", "limit")),
    Row("4 ms of work, steps of 4 ms", RECORDS, {"steps": 80_000, "step": 0.004}, only=("ours", "reference", "limit")),
)


class Work:
    def __init__(self, steps: int) -> None:
        self._steps = steps

    def __call__(self, x: int) -> int:
        return busy(x, self._steps)


def with_grain(grain: Any, run: Any, steps: int, step: float) -> Iterator[int]:
    iterator = iter(run(grain.MapDataset.range(LENGTH).shuffle(seed=1).map(Work(steps))))
    for element in iterator:
        time.sleep(step)
        yield element


def bare(steps: int, step: float) -> Iterator[int]:
    """Work and steps that overlap wholly: the shorter of the two costs nothing."""
    work = Work(steps)
    for x in range(LENGTH):
        end = time.perf_counter() + step
        element = work(x)
        if (left := end - time.perf_counter()) > 0:
            time.sleep(left)
        yield element
