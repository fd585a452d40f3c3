"""States: taking one, its size, and going back to one."""

from typing import Any

from benchmarks.metrics import GET_STATE, RESTORE, STATE_SIZE
from benchmarks.workload import Row
from benchmarks.workloads.cheap import LENGTH, increment

COUNTS = {"no workers": 0, "1 worker": 1, "4 workers": 4}
ROWS = (
    *(Row(f"get_state, {name}", GET_STATE, {"workers": count}, defaults=True) for name, count in COUNTS.items()),
    *(Row(f"size, {name}", STATE_SIZE, {"workers": count}, defaults=True) for name, count in COUNTS.items()),
    Row("set_state and next, no workers", RESTORE, {"workers": 0}),
    Row("set_state and next, 1 worker", RESTORE, {"workers": 1}),
)


def with_grain(grain: Any, run: Any, workers: int) -> Any:
    return run(grain.MapDataset.range(LENGTH).shuffle(seed=1).map(increment).batch(8), workers)
