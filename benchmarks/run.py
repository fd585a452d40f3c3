"""Runs workloads: contestants take turns, second by second, so that none has the quieter machine."""

import compileall
import contextlib
import datetime
import itertools
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from typing import Any

from benchmarks.contestants import CONTESTANTS, ENVIRONMENTS, LIBRARY, ROOT, label, settings
from benchmarks.environments import NotInstalled, python, versions
from benchmarks.process import Failed, Process, fixed_addresses
from benchmarks.ratios import PRECISION
from benchmarks.report import quantity

_DEADLINE = 90.0
_HOST = "ours", "default"  # makes the data, and knows the rows


class Measured:
    """A row, and what its contestants reached in the repetitions so far."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.row = row
        self.turns: list[tuple[str, str]] = []
        for name in row["contestants"]:
            # How torch collates is a matter of rates only.
            defaults = row["defaults"] or (name == "torch" and not row["more"])
            self.turns += [(name, setting) for setting in settings(name, row["workers"], row["spread"], defaults)]
        self.found: dict[str, Any] = {label(*turn): {"values": []} for turn in self.turns}
        self.seconds = 0.0  # that the last repetition took

    @property
    def title(self) -> str:
        return f"{self.row['workload']} · {self.row['row']} ({self.row['unit']})"

    def gap(self, turn: tuple[str, str]) -> float:
        """By how much the two best values of a contestant differ; 0 where there is no use in another."""
        entry = self.found[label(*turn)]
        if self.row["steady"] or "failed" in entry:
            return 0.0
        best = sorted(entry["values"], reverse=self.row["more"])[:2]
        return abs(best[0] - best[-1]) / max(best) if len(best) == 2 else 1.0

    def unsettled(self) -> list[tuple[str, str]]:
        """The contestants whose best value may be an accident."""
        return [turn for turn in self.turns if self.gap(turn) > PRECISION]

    def add(self, turn: tuple[str, str], values: list[float]) -> None:
        """Takes note of what a contestant reached in the rounds of a repetition.

        Of rates the mean counts: what comes in a short time depends on how full the buffers were. Of costs the least.
        """
        entry, more = self.found[label(*turn)], self.row["more"]
        entry["values"].append(statistics.fmean(values) if more else min(values))
        entry["best"] = max(entry["values"]) if more else min(entry["values"])
        entry["spread"] = (max(entry["values"]) - min(entry["values"])) / max(entry["values"])

    def lines(self, turns: Iterable[tuple[str, str]]) -> list[str]:
        entries = {who: self.found[who] for who in itertools.starmap(label, turns)}
        return [f"    {who:24} {entry.get('failed') or quantity(entry['best'])}" for who, entry in entries.items()]

    def result(self) -> dict[str, Any]:
        return {"unit": self.row["unit"], "more": self.row["more"], "contestants": self.found}


class Bench:
    """The processes of all contestants, and what they measured."""

    def __init__(self, repetitions: int, seconds: float, budget: float = float("inf")) -> None:
        """Rows are repeated until the two best of each contestant agree.

        repetitions: how often at the most.
        seconds: for one measurement, about.
        budget: the seconds that a run should take; what is left after the first repetition goes to rows that need more.
        """
        self._repetitions, self._seconds, self._budget = repetitions, seconds, budget
        self._processes = {
            (name, setting): Process(contestant)
            for name, contestant in CONTESTANTS.items()
            for setting in contestant.settings
        }
        self._not_installed: dict[str, str] = {}
        self._begun = time.perf_counter()

    def __enter__(self) -> "Bench":
        # As an installer does for the others: what runs is compiled, whether or not this machine writes bytecode.
        for directory in (LIBRARY / "grain", ROOT / "benchmarks"):
            compileall.compile_dir(directory, quiet=1, rx=re.compile(r"\.envs"))
        self._processes[_HOST].ask(300, do="prepare")
        return self

    def __exit__(self, *_exception: object) -> None:
        for process in self._processes.values():
            process.stop()

    def describe(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._processes[_HOST].ask(60, do="describe")
        return rows

    def run(self, rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
        """The results of the rows by workload, each with the run that made them."""
        all_measured = [Measured(row) for row in rows]
        self._install({name for measured in all_measured for name in measured.row["contestants"]})
        self._begun = time.perf_counter()
        for number, measured in enumerate(all_measured, 1):
            self._say(f"[{number}/{len(all_measured)} {self._elapsed()}] {measured.title}")
            self._repeat(measured)
            self._say("\n".join(measured.lines(measured.turns)))
        self._settle(all_measured)
        results: dict[str, Any] = {}
        for measured in all_measured:
            row = measured.row
            entry = results.setdefault(row["workload"], {"about": row["about"], "rows": {}})
            entry["rows"][row["row"]] = measured.result()
        return results

    def _settle(self, all_measured: list[Measured]) -> None:
        """Measures again what does not agree, in turn and the worst first: a bad minute is not all that a row has seen."""
        for repetition in range(1, self._repetitions):
            for measured in sorted(all_measured, key=lambda row: max(map(row.gap, row.turns), default=0), reverse=True):
                left = self._budget - (time.perf_counter() - self._begun)
                # All of them: who is measured more often has the better chance of a good moment.
                if measured.unsettled() and left > measured.seconds:
                    self._say(f"[{repetition + 1}. time {self._elapsed()}] {measured.title}")
                    self._repeat(measured)
                    self._say("\n".join(measured.lines(measured.turns)))

    def _install(self, names: set[str]) -> None:
        """Makes the environments that are missing, before the clock of the budget starts."""
        for name in sorted(names):
            try:
                python(CONTESTANTS[name].env)
            except NotInstalled as reason:
                self._not_installed[name] = f"not installed: {reason}"

    def _repeat(self, measured: Measured) -> None:
        """Adds a value for each contestant, of rounds in which each has its turn."""
        began = time.perf_counter()
        row = measured.row
        running = {turn: [] for turn in measured.turns if "failed" not in measured.found[label(*turn)]}
        if row["fresh"]:  # it may have run other rows before
            for turn in running:
                self._processes[turn].stop()
        for _ in range(row["rounds"]):
            for turn in list(running):
                try:
                    running[turn].append(self._once(row, *turn))
                except Failed as failure:
                    del running[turn]
                    measured.found[label(*turn)]["failed"] = str(failure)
                    # A library's leavings (threads, cached elements) must not burden its other rows.
                    self._processes[turn].stop()
        for turn, values in running.items():
            measured.add(turn, values)
            self._finish(row, *turn)
        measured.seconds = time.perf_counter() - began

    def _once(self, row: dict[str, Any], name: str, setting: str) -> float:
        """What a contestant reaches in its turn."""
        if name in self._not_installed:
            raise Failed(self._not_installed[name])
        request = {"name": name, "setting": setting, "workload": row["workload"], "row": row["row"]}
        process = self._processes[name, setting]
        value: float = process.ask(_DEADLINE, do="measure", seconds=self._seconds, **request)
        return value

    def _finish(self, row: dict[str, Any], name: str, setting: str) -> None:
        process = self._processes[name, setting]
        if row["fresh"]:
            process.stop()
        else:
            with contextlib.suppress(Failed):  # it is started again for the next row
                process.ask(_DEADLINE, do="finish")

    def _elapsed(self) -> str:
        seconds = int(time.perf_counter() - self._begun)
        return f"{seconds // 60}:{seconds % 60:02}"

    @staticmethod
    def _say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)


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
            "addresses": "fixed" if fixed_addresses() else "random",
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
