"""The results as Markdown: an overview that says where we lose, the goals, and every number with its spread."""

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.ratios import PRECISION, NotMeasured, evaluate, goals

_HEAD = """# Results

Made by `{command}` on {date} at commit {commit}: {cores} cores ({cpu}), Python {python}, {system}, load {load} before,
{addresses} addresses. {versions}.

Best of the repetitions, and by how much they differ; contestants took turns. *reference* is grain 0.2.18 at its defaults, *reference inline* with
`ReadOptions(0, 0)` (and, with workers, 16 buffers each), *2 workers* the same with two of them where the row names none,
*best* the best of a library's settings, *limit* the user's own functions in a bare loop (in as many processes as the row
or the setting has workers), memcpy, or `import numpy`. A ratio above 1 means better, whatever the unit.

![overview](overview.png)
"""


def quantity(value: float) -> str:
    """A number with three digits and thousands marked."""
    if value >= 1000:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}"


def ratio(rows: Mapping[str, Any], row: str, expression: str) -> str:
    try:
        value = evaluate(rows, row, expression)
    except NotMeasured as missing:
        return "failed" if "failed" in str(missing) else ""
    text = f"{quantity(value)}×" if value >= 0.1 else f"{value:.2g}×"
    return text if value >= 1 else f"**{text}**"


def markdown(results: Mapping[str, Any]) -> str:
    workloads = results["workloads"]
    run = next(iter(workloads.values()))["run"]
    machine = {"addresses": "random", **run["machine"]}
    head = _HEAD.format(**run, **machine, versions=_versions(results["versions"]))
    parts = [head, *_overview(workloads), "", *_goals(results), "", *_details(workloads)]
    return "\n".join(parts) + "\n"


def _versions(found: Mapping[str, Mapping[str, str]]) -> str:
    named = {"reference": "grain", "torch": "torch", "hf": "datasets", "spdl": "spdl", "ours": "numpy"}
    shown = [f"{package} {found.get(env, {}).get(package, 'not installed')}" for env, package in named.items()]
    if "torchdata" in found.get("torch", {}):
        shown.append(f"torchdata {found['torch']['torchdata']}")
    return ", ".join(shown)


def _overview(workloads: Mapping[str, Any]) -> Iterator[str]:
    yield "## Overview"
    yield ""
    yield "How many times better we are, best setting against best setting; the first ratio has ours at its defaults."
    yield "Bold: we are behind. The last column is the share of the limit that we reach."
    yield ""
    rivals = ("reference", "torch", "torchdata", "hf", "spdl")
    yield f"| workload | ours | unit | defaults / reference | {' | '.join(f'/ {who}' for who in rivals)} | limit |"
    yield f"|---|--:|---|--:|{'--:|' * len(rivals)}--:|"
    for workload, entry in workloads.items():
        rows = entry["rows"]
        for row, measured in rows.items():
            share = "" if (value := _maybe(rows, row, "ours best / limit best")) is None else f"{value:.0%}"
            ours = "failed" if (value := _maybe(rows, row, "ours best")) is None else quantity(value)
            pairs = ("ours / reference best", *(f"ours best / {who} best" for who in rivals))
            cells = " | ".join(ratio(rows, row, expression) for expression in pairs)
            yield f"| {workload} · {row} | {ours} | {measured['unit']} | {cells} | {share} |"


def _maybe(rows: Mapping[str, Any], row: str, expression: str) -> float | None:
    try:
        return evaluate(rows, row, expression)
    except NotMeasured:
        return None


def _goals(results: Mapping[str, Any]) -> Iterator[str]:
    yield "## Goals"
    yield ""
    yield f"✓ holds, ✗ does not, = even: behind the reference by {PRECISION:.0%} at the most, which a run cannot tell from noise."
    yield ""
    yield "| | goal | needed | measured |"
    yield "|---|---|--:|--:|"
    for goal in goals(results):
        if goal.workload not in results["workloads"]:
            continue
        mark = "✓" if goal.holds else "?" if goal.value is None else "=" if goal.even else "✗"
        needed = (
            f"{'≤' if goal.unit else '≥'} {goal.floor:g} {goal.unit or '×'}{'' if goal.asserted else ' (only shown)'}"
        )
        measured = goal.reason if goal.value is None else quantity(goal.value)
        yield f"| {mark} | {goal.workload} · {goal.row}: {goal.expression} | {needed} | {measured} |"


def _details(workloads: Mapping[str, Any]) -> Iterator[str]:
    yield "## All numbers"
    main_run = next(iter(workloads.values()))["run"]
    for workload, entry in workloads.items():
        run, apart = entry["run"], ""
        if run != main_run:
            apart = f"\n\nMeasured by `{run['command']}` on {run['date']} at commit {run['commit']}."
        yield f"\n### {workload}\n\n{entry['about']}{apart}\n\n![{workload}]({workload}.png)\n"
        yield "| row | contestant | best | spread |"
        yield "|---|---|--:|--:|"
        for row, measured in entry["rows"].items():
            for who, numbers in measured["contestants"].items():
                cells = " | "
                if "best" in numbers:
                    spread = f"{numbers['spread']:.0%}" if len(numbers["values"]) > 1 else ""
                    cells = f"{quantity(numbers['best'])} {measured['unit']} | {spread}"
                if "failed" in numbers:
                    cells = f"failed: {numbers['failed']} {cells}"
                yield f"| {row} | {who} | {cells} |"
