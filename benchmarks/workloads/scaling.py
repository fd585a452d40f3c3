"""Cost of an element from a thousand to a million million records: shuffle and map, element by element."""

from collections.abc import Iterator
from itertools import repeat
from typing import Any

from benchmarks.metrics import RECORDS
from benchmarks.workload import Row
from benchmarks.workloads.cheap import increment

ROWS = tuple(
    Row(f"10**{power} records", RECORDS, {"power": power}, short=power % 3 == 0) for power in (3, 4, 5, 6, 8, 9, 10, 12)
)


def with_grain(grain: Any, run: Any, power: int) -> Any:
    ds = grain.MapDataset.range(10**power).shuffle(seed=1).map(increment)
    return run(ds.repeat(10**6 // 10**power) if power < 6 else ds)


def bare(power: int) -> Iterator[int]:
    return map(increment, repeat(0, max(10**power, 10**6)))
