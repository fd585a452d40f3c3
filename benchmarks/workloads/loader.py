"""The loader: dict elements (28×28 images with labels), map, batches of 128."""

from collections.abc import Iterator
from typing import Any

from benchmarks.data import digits
from benchmarks.functions import normalise
from benchmarks.metrics import RECORDS
from benchmarks.workload import Row
from benchmarks.workloads import dicts

ROWS = tuple(
    Row("2 workers" if workers else "no workers", RECORDS, {"workers": workers}, scale=dicts.BATCH)
    for workers in (0, 2)
)


def with_grain(grain: Any, run: Any, workers: int) -> Any:
    class Normalise(grain.transforms.Map):  # type: ignore[misc]
        def map(self, element: dict[str, Any]) -> dict[str, Any]:
            return normalise(element)

    return grain.DataLoader(
        data_source=digits(),
        sampler=grain.samplers.IndexSampler(len(digits()), shuffle=True, num_epochs=1, seed=1),
        operations=[Normalise(), grain.transforms.Batch(dicts.BATCH)],
        worker_count=workers,
        read_options=run.read_options,
    )


def with_torch(_data: Any, run: Any, workers: int) -> Any:
    digits()
    return run(dicts.Digits(), workers, batch_size=dicts.BATCH, shuffle=True)


def bare(workers: int) -> Iterator[Any]:
    del workers
    return dicts.bare()
