"""Memory: what a pipeline holds with every option at its default, and whether an epoch leaves anything behind."""

from typing import Any

import numpy as np

from benchmarks.metrics import EPOCH_MEMORY, READ_AHEAD
from benchmarks.workload import Row
from benchmarks.workloads.cheap import increment
from benchmarks.workloads.transfer import SHAPE

BATCH = 64
ROWS = (
    Row("batches of 64 images, defaults", READ_AHEAD, {"workers": 0}, defaults=True),
    Row("batches of 64 images, 2 workers", READ_AHEAD, {"workers": 2}, defaults=True),
    Row("growth over 10**7 elements", EPOCH_MEMORY, {"images": False}, only=("ours",), defaults=True),
)


def blank(index: int) -> np.ndarray[Any, Any]:
    return np.full(SHAPE, index % 256, np.uint8)


def with_grain(grain: Any, run: Any, workers: int = 0, images: bool = True) -> Any:
    if not images:
        return run(grain.MapDataset.range(10**7).shuffle(seed=1).map(increment))
    return run(grain.MapDataset.range(10**6).map(blank).batch(BATCH), workers)


class Blanks:
    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, index: int) -> np.ndarray[Any, Any]:
        return blank(index)


def with_torch(_data: Any, run: Any, workers: int = 0, images: bool = True) -> Any:
    return run(Blanks(), workers, batch_size=BATCH)
