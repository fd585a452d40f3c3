"""A contestant's process: reads requests as JSON lines, runs one measurement for each, answers on standard output."""

import contextlib
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
from collections.abc import Callable, Generator
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
                    "rounds": row.metric.rounds,
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


def measurements(name: str, setting: str, workload: str, row: str, seconds: float) -> Generator[float, None, None]:
    """What a contestant reaches in a row, again and again, while its pipeline goes on running."""
    make, declared = pipeline(name, setting, workload, row)
    copies = declared.params.get("workers", 0) or CONTESTANTS[name].settings[setting].workers
    seconds *= declared.longer
    if copies:
        seconds *= _LONGER_WITH_WORKERS
    take = declared.metric.take
    if take is metrics.rate and copies > 1 and name == "limit":
        take = functools.partial(metrics.rate_of_copies, copies=copies)
    times = declared.scale * (declared.limit_times if name == "limit" else 1)
    for value in take(make, seconds, seconds * declared.warm_up):
        yield value * times


class _Running:
    """The pipeline that is being measured, if there is one."""

    def __init__(self) -> None:
        self._values: Generator[float, None, None] | None = None

    def measure(self, **row: Any) -> float:
        """The next number of a row, whose pipeline is started at the first."""
        if self._values is None:
            self._values = measurements(**row)
        try:
            return next(self._values)
        except BaseException:
            self._values = None
            raise

    def finish(self) -> None:
        """Ends the pipeline."""
        if self._values is not None:
            self._values.close()
            self._values = None


def profile(workload: str, row: str, setting: str, seconds: float) -> str:
    """Where this library's process spends its time in the first row of the workload whose name contains `row`."""
    name = next(declared.name for declared in _load(workload).ROWS if row in declared.name)
    profiler, text = cProfile.Profile(), io.StringIO()
    with contextlib.closing(measurements("ours", setting, workload, name, seconds)) as values:
        value = profiler.runcall(next, values)
    pstats.Stats(profiler, stream=text).strip_dirs().sort_stats("tottime").print_stats(30)
    return f"{workload} · {name}: {value:.6g} under the profiler\n{text.getvalue()}"


def main() -> None:
    # Whatever a library prints must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    running = _Running()
    operations: dict[str, Callable[..., Any]] = {
        "describe": describe,
        "prepare": prepare,
        "measure": running.measure,
        "finish": running.finish,
        "profile": profile,
    }
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"value": operations[request.pop("do")](**request)}
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
