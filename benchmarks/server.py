"""A contestant's process: reads requests as JSON lines, runs one measurement for each, answers on standard output."""

import cProfile
import functools
import importlib
import io
import json
import os
import pkgutil
import pstats
import sys
import traceback
from collections.abc import Callable
from typing import Any

from benchmarks import metrics, workloads
from benchmarks.contestants import CONTESTANTS
from benchmarks.data import prepare
from benchmarks.workload import Make, Row

# What workers have ready at the start must not count for much.
_LONGER_WITH_WORKERS = 2


def _load(workload: str) -> Any:
    return importlib.import_module(f"benchmarks.workloads.{workload}")


def describe() -> list[dict[str, Any]]:
    """Every row of every workload, and who can run it, as the orchestrator needs to know it."""
    found = []
    for info in pkgutil.iter_modules(workloads.__path__):
        module = _load(info.name)
        able = [name for name, contestant in CONTESTANTS.items() if hasattr(module, contestant.function)]
        for row in module.ROWS:
            found.append(
                {
                    "workload": info.name,
                    "about": (module.__doc__ or "").splitlines()[0],
                    "row": row.name,
                    "unit": row.metric.unit,
                    "more": row.metric.more,
                    "fresh": row.metric.fresh,
                    "steady": row.metric.steady,
                    "short": row.short,
                    "workers": row.params.get("workers"),
                    "defaults": row.defaults,
                    "spread": row.spread,
                    "contestants": [name for name in able if name in row.only or not row.only],
                }
            )
    return found


def pipeline(name: str, setting: str, workload: str, row_name: str) -> tuple[Make, Row]:
    """What makes the contestant's pipeline for a row."""
    module, contestant = _load(workload), CONTESTANTS[name]
    row = next(row for row in module.ROWS if row.name == row_name)
    build: Callable[..., Any] = getattr(module, contestant.function)
    if not contestant.module:
        return functools.partial(build, **row.params), row
    library = importlib.import_module(contestant.module)
    how = contestant.settings[setting]
    run = how.bind(library)
    arguments = (library,) if run is None else (library, run)
    workers = {"workers": how.workers} if row.spread and contestant.function == "with_grain" and how.workers else {}
    return functools.partial(build, *arguments, **row.params, **workers), row


def measure(name: str, setting: str, workload: str, row: str, seconds: float) -> float:
    make, declared = pipeline(name, setting, workload, row)
    copies = declared.params.get("workers", 0) or CONTESTANTS[name].settings[setting].workers
    seconds *= declared.longer
    if copies:
        seconds *= _LONGER_WITH_WORKERS
    take = declared.metric.take
    if take is metrics.rate and copies > 1:
        copied = functools.partial(metrics.rate_of_copies, copies=copies)
        take = copied if name == "limit" else metrics.rate_with_workers
    value = take(make, seconds)
    return value * declared.scale * (declared.limit_times if name == "limit" else 1)


def profile(workload: str, row: str, setting: str, seconds: float) -> str:
    """Where this library's process spends its time in the first row of the workload whose name contains `row`."""
    name = next(declared.name for declared in _load(workload).ROWS if row in declared.name)
    profiler, text = cProfile.Profile(), io.StringIO()
    value = profiler.runcall(measure, "ours", setting, workload, name, seconds)
    pstats.Stats(profiler, stream=text).strip_dirs().sort_stats("tottime").print_stats(30)
    return f"{workload} · {name}: {value:.6g} under the profiler\n{text.getvalue()}"


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "describe": describe,
    "prepare": prepare,
    "measure": measure,
    "profile": profile,
}


def main() -> None:
    # Whatever a library prints must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"value": _OPERATIONS[request.pop("do")](**request)}
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
