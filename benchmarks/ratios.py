"""Ratios of one run against the committed floors (floors.json): which goal holds."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FLOORS = Path(__file__).with_name("floors.json")
EVERYWHERE = "ours / reference best"
PRECISION = 0.05  # of a best value: some other repetition comes so close to it
_TERM = re.compile(r"^(?P<who>[^@×]+?)(?: @ (?P<row>[^×]+?))?(?: × (?P<times>[\d.]+))?$")


class NotMeasured(Exception):
    """A number that a ratio needs and that the results do not have."""


@dataclass(frozen=True)
class Goal:
    """One committed floor, and what the results say about it.

    expression: "ours inline / reference best", "ours / limit @ 0 workers × 2", or one contestant for a plain value.
    asserted: whether a failure counts; times in seconds are only shown.
    """

    workload: str
    row: str
    expression: str
    floor: float
    value: float | None
    reason: str = ""
    asserted: bool = True
    unit: str = ""

    @property
    def holds(self) -> bool:
        if self.value is None:
            return False
        return self.value <= self.floor if self.unit else self.value >= self.floor

    @property
    def even(self) -> bool:
        """Whether we are behind the reference by less than a run can tell, where all that counts is not to be behind."""
        if self.value is None or self.holds or (self.expression, self.floor) != (EVERYWHERE, 1):
            return False
        return self.value >= 1 - PRECISION

    def line(self) -> str:
        verdict = "holds" if self.holds else "not measured" if self.value is None else "even" if self.even else "FAILS"
        sign = "≤" if self.unit else "≥"
        value = self.reason if self.value is None else f"{self.value:.3g}"
        aside = "" if self.asserted else " (only shown)"
        return (
            f"{verdict:12} {self.workload} · {self.row}: {self.expression} = {value}, "
            f"goal {sign} {self.floor:g}{' ' + self.unit if self.unit else ''}{aside}"
        )


def best(row: Mapping[str, Any], who: str) -> float:
    """The best number of a contestant in a row; "torch best" is the better of all of torch's settings."""
    entries = row["contestants"]
    names = [who]
    if who.endswith(" best"):
        library = who.removesuffix(" best")
        names = [name for name in entries if name == library or name.startswith(f"{library} ")]
    numbers = [entries[name]["best"] for name in names if entries.get(name, {}).get("best") is not None]
    if numbers:
        return float(max(numbers) if row["more"] else min(numbers))
    failures = [entries[name]["failed"] for name in names if "failed" in entries.get(name, {})]
    raise NotMeasured(f"{who} failed: {failures[0]}" if failures else f"{who} did not run")


def evaluate(rows: Mapping[str, Any], row: str, expression: str) -> float:
    """How many times better the left side is than the right side; with one side only, its plain number."""
    terms = []
    for text in expression.split(" / "):
        match = _TERM.match(text)
        assert match is not None, f"floors.json: cannot read {text!r}"
        at = match["row"] or row
        if at not in rows:
            raise NotMeasured(f"the row {at!r} did not run")
        terms.append(best(rows[at], match["who"]) * float(match["times"] or 1))
    if len(terms) == 1:
        return terms[0]
    left, right = terms if rows[row]["more"] else reversed(terms)
    return left / right


def floors() -> Iterator[tuple[str, str, str, float, bool]]:
    """(workload, row, expression, floor, asserted) of every committed floor."""
    for kind, groups in json.loads(FLOORS.read_text()).items():
        for workload, rows in groups.items():
            for row, expressions in rows.items():
                for expression, floor in expressions.items():
                    yield workload, row, expression, floor, kind == "asserted"


def goals(results: Mapping[str, Any]) -> list[Goal]:
    """Every floor of the workloads in the results; no row may be slower than the reference, named or not."""
    wanted = list(floors())
    named = {(workload, row) for workload, row, expression, _, _ in wanted if expression == EVERYWHERE}
    for workload, entry in results["workloads"].items():
        for row, measured in entry["rows"].items():
            if (workload, row) not in named and {"ours", "reference"} <= measured["contestants"].keys():
                wanted.append((workload, row, EVERYWHERE, 1.0, True))
    order = {workload: place for place, workload in enumerate(results["workloads"])}
    found = []
    for workload, row, expression, floor, asserted in sorted(wanted, key=lambda goal: order.get(goal[0], 0)):
        rows = results["workloads"].get(workload, {"rows": {}})["rows"]
        unit = "" if " / " in expression else rows[row]["unit"] if row in rows else "?"
        try:
            value, reason = evaluate(rows, row, expression), ""
        except NotMeasured as missing:
            value, reason = None, str(missing)
        found.append(Goal(workload, row, expression, floor, value, reason, asserted, unit))
    return found
