"""Start and stop: time to the first batch in a new process, and time to close."""

from typing import Any

from benchmarks.data import digits
from benchmarks.functions import normalise
from benchmarks.metrics import CLOSE, FIRST_ITEM
from benchmarks.workload import Row
from benchmarks.workloads import dicts

COUNTS = (0, 1, 2, 4)
ROWS = (
    *(Row(f"first batch, {count} worker{'s' * (count != 1)}", FIRST_ITEM, {"workers": count}) for count in COUNTS),
    Row("close, 2 workers", CLOSE, {"workers": 2}, defaults=True),
)


def with_grain(grain: Any, run: Any, workers: int) -> Any:
    ds = grain.MapDataset.source(digits()[:10_000]).shuffle(seed=1).map(normalise)
    return run(ds.batch(dicts.BATCH), workers)


def with_torch(_data: Any, run: Any, workers: int) -> Any:
    return run(dicts.Digits(), workers, batch_size=dicts.BATCH)
