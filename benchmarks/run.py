"""Runs workloads: contestants take turns, repetition after repetition, so that none has the quieter machine."""

import compileall
import datetime
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from typing import Any

from benchmarks.contestants import CONTESTANTS, ENVIRONMENTS, LIBRARY, ROOT, label, settings
from benchmarks.environments import NotInstalled, python, versions
from benchmarks.process import Failed, Process
from benchmarks.ratios import PRECISION
from benchmarks.report import quantity

_DEADLINE = 90.0
_FEWEST = 2


class Bench:
    """The processes of all contestants, and what they measured."""

    def __init__(self, repetitions: int, seconds: float, budget: float = float("inf")) -> None:
        """Each row is repeated until the two best of each contestant agree.

        repetitions: how often at the most.
        seconds: for one measurement, about.
        budget: the seconds that a run should take; on a busy machine later repetitions are left out for it.
        """
        self._repetitions, self._seconds, self._budget = repetitions, seconds, budget
        self._processes = {name: Process(contestant) for name, contestant in CONTESTANTS.items()}
        self._not_installed: dict[str, str] = {}
        self._begun = time.perf_counter()

    def __enter__(self) -> "Bench":
        # As an installer does for the others: what runs is compiled, whether or not this machine writes bytecode.
        for directory in (LIBRARY / "grain", ROOT / "benchmarks"):
            compileall.compile_dir(directory, quiet=1, rx=re.compile(r"\.envs"))
        self._processes["ours"].ask(300, do="prepare")
        return self

    def __exit__(self, *_exception: object) -> None:
        for process in self._processes.values():
            process.stop()

    def describe(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._processes["ours"].ask(60, do="describe")
        return rows

    def run(self, rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
        """The results of the rows by workload, each with the run that made them."""
        rows, results = list(rows), dict[str, Any]()
        self._install({name for row in rows for name in row["contestants"]})
        self._begun = time.perf_counter()
        for number, row in enumerate(rows, 1):
            self._say(f"[{number}/{len(rows)} {self._elapsed()}] {row['workload']} · {row['row']} ({row['unit']})")
            entry = results.setdefault(row["workload"], {"about": row["about"], "rows": {}})
            entry["rows"][row["row"]] = {
                "unit": row["unit"],
                "more": row["more"],
                "contestants": self._measure(row, self._share(len(rows) - number + 1)),
            }
        return results

    def _install(self, names: set[str]) -> None:
        """Makes the environments that are missing, before the clock of the budget starts."""
        for name in sorted(names):
            try:
                python(CONTESTANTS[name].env)
            except NotInstalled as reason:
                self._not_installed[name] = f"not installed: {reason}"

    def _share(self, rows_left: int) -> float:
        """When the next row has to be done."""
        left = self._budget - (time.perf_counter() - self._begun)
        return time.perf_counter() + left / rows_left

    def _measure(self, row: dict[str, Any], end: float) -> dict[str, Any]:
        turns = []
        for name in row["contestants"]:
            # How torch collates is a matter of rates only.
            defaults = row["defaults"] or (name == "torch" and not row["more"])
            turns += [(name, setting) for setting in settings(name, row["workers"], defaults)]
        found: dict[str, Any] = {label(*turn): {"values": []} for turn in turns}
        for repetition in range(1 if row["steady"] else self._repetitions):
            settled = all(_settled(entry, row["more"]) for entry in found.values())
            if repetition >= _FEWEST and (settled or time.perf_counter() > end):
                break
            for name, setting in turns:
                entry = found[label(name, setting)]
                if "failed" not in entry:
                    try:
                        entry["values"].append(self._once(row, name, setting))
                    except Failed as failure:
                        entry["failed"] = str(failure)
        for who, entry in found.items():
            values = entry["values"]
            if values:
                entry["best"] = max(values) if row["more"] else min(values)
                entry["spread"] = (max(values) - min(values)) / max(values)
            self._say(f"    {who:24} {entry.get('failed') or quantity(entry['best'])}")
        for name in row["contestants"]:
            # A library's leavings (threads, cached elements) must not burden the rows of the others.
            if any("failed" in entry for who, entry in found.items() if who.split()[0] == name):
                self._processes[name].stop()
        return found

    def _once(self, row: dict[str, Any], name: str, setting: str) -> float:
        if name in self._not_installed:
            raise Failed(self._not_installed[name])
        process = self._processes[name]
        if row["fresh"]:
            process = Process(CONTESTANTS[name])
        try:
            request = {"name": name, "setting": setting, "workload": row["workload"], "row": row["row"]}
            value: float = process.ask(_DEADLINE, do="measure", seconds=self._seconds, **request)
            return value
        finally:
            if row["fresh"]:
                process.stop()

    def _elapsed(self) -> str:
        seconds = int(time.perf_counter() - self._begun)
        return f"{seconds // 60}:{seconds % 60:02}"

    @staticmethod
    def _say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)


def _settled(entry: dict[str, Any], more: bool) -> bool:
    """Whether the best value is no accident."""
    best = sorted(entry["values"], reverse=more)[:2]
    return "failed" in entry or (len(best) == 2 and abs(best[0] - best[1]) <= PRECISION * max(best))


def circumstances(command: str) -> dict[str, Any]:
    """When, where, of what and with which command: what a reader needs to judge or repeat the numbers."""
    return {
        "command": command,
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "commit": _git("rev-parse", "--short", "HEAD") + ("+" if _git("status", "--porcelain", "grain") else ""),
        "machine": {
            "cores": os.cpu_count(),
            "cpu": _cpu_model(),
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.machine()}",
            "load": round(os.getloadavg()[0], 1),
        },
    }


def all_versions() -> dict[str, dict[str, str]]:
    """The packages of every environment that could be made."""
    found = {}
    for env in ENVIRONMENTS:
        try:
            found[env] = versions(env)
        except NotInstalled as reason:
            found[env] = {"not installed": str(reason)}
    return found


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=LIBRARY, capture_output=True, text=True).stdout.strip()


def _cpu_model() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
