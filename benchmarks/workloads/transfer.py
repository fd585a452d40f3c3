"""Big batches through one worker: 64 images of 224×224×3 (9.6 MB), against memcpy."""

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.metrics import MAIN_THREAD_CPU, MEGABYTES, PROCESS_CPU
from benchmarks.workload import Row

SHAPE, BATCH = (224, 224, 3), 64
BATCH_MB = BATCH * 224 * 224 * 3 / 1e6
_LOADERS = ("ours", "reference", "torch")
ROWS = (
    Row("9.6 MB batches made whole", MEGABYTES, {"workers": 1, "batch": BATCH}, scale=BATCH_MB),
    Row(
        "9.6 MB batches stacked from images", MEGABYTES, {"workers": 1, "batch": BATCH, "stacked": True}, scale=BATCH_MB
    ),
    Row("next() of 9.6 MB", MAIN_THREAD_CPU, {"workers": 1, "batch": BATCH}, only=_LOADERS),
    Row("next() of 2.4 MB", MAIN_THREAD_CPU, {"workers": 1, "batch": 16}, only=("ours",)),  # one a message, as those
    Row("next() of 0.6 MB", MAIN_THREAD_CPU, {"workers": 1, "batch": 4}, only=_LOADERS),
    # Some libraries receive batches in a thread of their own.
    Row("next() of 9.6 MB, all threads", PROCESS_CPU, {"workers": 1, "batch": BATCH}, only=_LOADERS),
)


@functools.cache
def image() -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).integers(0, 256, SHAPE, dtype=np.uint8)


@functools.cache
def images(batch: int) -> np.ndarray[Any, Any]:
    return np.stack([image()] * batch)


def made_whole(_index: int, batch: int) -> np.ndarray[Any, Any]:
    return images(batch)


def one_image(_index: int) -> np.ndarray[Any, Any]:
    return image()


def with_grain(grain: Any, run: Any, workers: int, batch: int, stacked: bool = False) -> Any:
    ds = grain.MapDataset.range(10**9)
    ds = ds.map(one_image).batch(batch) if stacked else ds.map(functools.partial(made_whole, batch=batch))
    return run(ds, workers)


class Whole:
    def __init__(self, batch: int, stacked: bool) -> None:
        self._make = one_image if stacked else functools.partial(made_whole, batch=batch)

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, index: int) -> Any:
        return self._make(index)


def with_torch(_data: Any, run: Any, workers: int, batch: int, stacked: bool = False) -> Any:
    return run(Whole(batch, stacked), workers, batch_size=batch if stacked else None)


def bare(workers: int, batch: int, stacked: bool = False) -> Iterator[Any]:
    del workers, stacked
    source, target = images(batch), np.empty_like(images(batch))
    while True:
        np.copyto(target, source)
        yield target
