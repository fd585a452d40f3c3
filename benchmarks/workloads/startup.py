"""Import time in a new interpreter, against `import numpy`."""

import subprocess
import sys
from typing import Any

from benchmarks.metrics import anew
from benchmarks.workload import Make, Metric, Row

_TIMED = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def _import_seconds(make: Make, _seconds: float) -> float:
    def once() -> float:
        code = _TIMED.format(*make())
        return float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout)

    return min(once() for _ in range(3))


ROWS = (Row("import", Metric("s", anew(_import_seconds), more=False, rounds=1), defaults=True),)


def with_grain(_grain: Any, _run: Any) -> list[str]:
    return ["grain"]


def with_torch(_data: Any, _run: Any) -> list[str]:
    return ["torch.utils.data"]


def with_datasets(_datasets: Any) -> list[str]:
    return ["datasets"]


def with_spdl(_spdl: Any) -> list[str]:
    return ["spdl.pipeline"]


def bare() -> list[str]:
    return ["numpy"]
