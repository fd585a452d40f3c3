"""Draws the results: the overview of ratios, and one picture a workload with its limit; runs where matplotlib is."""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import pyplot
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from benchmarks.ratios import NotMeasured, evaluate
from benchmarks.report import quantity

Rows = Mapping[str, Any]

COLOURS = {
    "ours": "#1b6ca8",
    "reference": "#c8553d",
    "torch": "#e09f3e",
    "torchdata": "#9a7b4f",
    "hf": "#7d8597",
    "spdl": "#588157",
}
LIMIT = "#222222"
_BEHIND = "#8d0801"
_PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
# Rows of these workloads that differ in one number are drawn over that number.
CURVES = {
    "scaling": (r"10\*\*(\d+) records", "records, as a power of ten"),
    "workers": (r"busy function, (\d+) worker", "workers"),
}


def _value(rows: Rows, row: str, expression: str) -> float | None:
    try:
        return evaluate(rows, row, expression)
    except NotMeasured:
        return None


def _overview(workloads: Mapping[str, Any], target: Path) -> None:
    """Every row as a bar, in multiples of the reference at its best, with torch and the limit on the same scale."""
    lines: list[tuple[str, float, float | None, float | None, float | None]] = []
    for workload, entry in workloads.items():
        for row in entry["rows"]:
            ours = _value(entry["rows"], row, "ours best / reference best")
            if ours is not None:
                default, torch, limit = (
                    _value(entry["rows"], row, f"{who} / reference best")
                    for who in ("ours", "torch best", "limit best")
                )
                lines.append((f"{workload} · {row}", ours, default, torch, limit))
    if not lines:
        return
    figure, axes = pyplot.subplots(figsize=(10, 0.24 * len(lines) + 1.5))
    for place, (_, ours, default, torch, limit) in enumerate(lines):
        axes.barh(place, ours - 1, left=1, height=0.66, color=COLOURS["ours"] if ours >= 1 else _BEHIND, zorder=2)
        for value, marker, colour, size in ((torch, "D", COLOURS["torch"], 26), (limit, "|", LIMIT, 90)):
            if value is not None:
                axes.scatter(value, place, marker=marker, color=colour, s=size, zorder=4, linewidths=1.6)
        if default is not None and default < 0.95 * ours:
            axes.scatter(default, place, marker="o", color="white", edgecolors=COLOURS["ours"], s=22, zorder=3)
        # In a column of its own: no mark of any contestant gets there.
        axes.annotate(
            f"{quantity(ours)}×",
            (1, place),
            (4, 0),
            xycoords=axes.get_yaxis_transform(),
            textcoords="offset points",
            va="center",
            fontsize=7,
            color=_BEHIND if ours < 1 else "black",
        )
    axes.axvline(1, color=COLOURS["reference"], linewidth=1.5, zorder=3)
    axes.set_xscale("log")
    low = min(0.3, *(min(value for value in line[1:] if value) for line in lines))
    axes.set_xlim(low / 2, None)
    axes.set_yticks(range(len(lines)), [line[0] for line in lines], fontsize=8)
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}×")
    axes.set_xlabel("times better than the reference at its best setting")
    axes.grid(axis="x", color="#e3e3e3", zorder=0)
    keys = [
        Patch(color=COLOURS["ours"], label="this library, best setting"),
        Line2D([], [], marker="o", color="none", markeredgecolor=COLOURS["ours"], label="this library, defaults"),
        Line2D([], [], color=COLOURS["reference"], label="reference, best setting"),
        Line2D(
            [],
            [],
            marker="D",
            color="none",
            markerfacecolor=COLOURS["torch"],
            markeredgecolor="none",
            label="torch, best setting",
        ),
        Line2D(
            [], [], marker="|", color="none", markeredgecolor=LIMIT, markersize=9, label="limit (bare loop, memcpy)"
        ),
    ]
    axes.legend(handles=keys, loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=3, fontsize=8, frameon=False)
    _save(figure, target)


def _shade(who: str) -> Any:
    """A library's colour, paler for settings other than the default."""
    library, *setting = who.split(" ", 1)
    return matplotlib.colors.to_rgba(COLOURS[library], 0.55 if setting else 1)


def _bars(axes: Any, row: str, measured: Mapping[str, Any]) -> None:
    """One row: a bar a contestant, the limits as lines."""
    limits, contestants = dict[str, float](), dict[str, Any]()
    for who, numbers in measured["contestants"].items():
        if not who.startswith("limit"):
            contestants[who] = numbers
        elif "best" in numbers:
            limits[who] = numbers["best"]
    values = [numbers["best"] for numbers in contestants.values() if "best" in numbers]
    shown = [*filter(None, values), *limits.values()]
    logarithmic = bool(shown) and max(shown) > 20 * min(shown)
    for place, (who, numbers) in enumerate(contestants.items()):
        value = numbers.get("best")
        if value is not None:
            axes.barh(place, value, color=_shade(who), height=0.7, zorder=2)
        text = "failed" if value is None else quantity(value)
        start = value if value is not None else (min(shown) if shown else 0)
        axes.annotate(
            text, (start, place), (3, 0), textcoords="offset points", va="center", fontsize=8, zorder=5, bbox=_PAPER
        )
    for (who, limit), (side, offset) in zip(limits.items(), (("right", -3), ("left", 3)), strict=False):
        axes.axvline(limit, color=LIMIT, linestyle="--", linewidth=1.2, zorder=3)
        axes.annotate(who, (limit, -0.6), (offset, 1), textcoords="offset points", ha=side, va="bottom", fontsize=7)
    if logarithmic:
        axes.set_xscale("log")
        axes.set_xlim(min(shown) / 3, max(shown) * 4)
    elif shown:
        axes.set_xlim(0, max(shown) * 1.18)
    axes.set_yticks(range(len(contestants)), list(contestants), fontsize=8)
    axes.set_ylim(len(contestants) - 0.4, -0.6)
    axes.set_title(row, fontsize=10, loc="left", pad=10)
    direction = "" if measured["more"] else ", less is better"
    axes.set_xlabel(f"{measured['unit']}{direction}{' (log scale)' if logarithmic else ''}", fontsize=8)
    axes.tick_params(axis="x", labelsize=7)
    axes.grid(axis="x", color="#e3e3e3", zorder=0)


def _curves(axes: Any, rows: Rows, pattern: str, over: str) -> None:
    """Rows that differ in one number: a line a contestant."""
    numbers = {int(match[1]): row for row in rows if (match := re.match(pattern, row))}
    labels = dict.fromkeys(who for row in numbers.values() for who in rows[row]["contestants"])
    for who in labels:
        points = [(x, rows[row]["contestants"].get(who, {}).get("best")) for x, row in sorted(numbers.items())]
        points = [(x, y) for x, y in points if y is not None]
        if not points:
            continue
        if who == "limit":
            axes.plot(*zip(*points, strict=True), "--", color=LIMIT, label="limit")
        else:
            style = "-" if " " not in who else ":"
            axes.plot(
                *zip(*points, strict=True), style, marker="o", markersize=4, color=COLOURS[who.split()[0]], label=who
            )
    axes.set_yscale("log")
    axes.set_xticks(sorted(numbers))
    axes.set_xlabel(over)
    axes.set_ylabel(next(iter(rows.values()))["unit"])
    axes.grid(color="#e3e3e3")
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)


def _workload(name: str, entry: Mapping[str, Any], machine: Mapping[str, Any], target: Path) -> None:
    rows = entry["rows"]
    pattern, over = CURVES.get(name, ("$^", ""))
    curve = sum(bool(re.match(pattern, row)) for row in rows) > 1
    bars = [row for row in rows if not (curve and re.match(pattern, row))]
    heights = [0.24 * len(rows[row]["contestants"]) + 0.9 for row in bars] + [3.4] * curve
    figure, grid = pyplot.subplots(
        len(heights), 1, figsize=(8.5, sum(heights) + 0.6), squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    for axes, row in zip(grid[:, 0], bars, strict=False):
        _bars(axes, row, rows[row])
    if curve:
        _curves(grid[-1, 0], rows, pattern, over)
    figure.suptitle(f"{entry['about']}\n{machine['cores']} cores, {machine['cpu']}", fontsize=10, x=0.01, ha="left")
    _save(figure, target)


def _save(figure: Any, target: Path) -> None:
    figure.tight_layout()
    figure.savefig(target, dpi=110)
    pyplot.close(figure)


def main() -> None:
    directory = Path(sys.argv[1])
    workloads = json.loads((directory / "results.json").read_text())["workloads"]
    matplotlib.use("agg")
    pyplot.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "font.family": "DejaVu Sans"})
    _overview(workloads, directory / "overview.png")
    for name, entry in workloads.items():
        _workload(name, entry, entry["run"]["machine"], directory / f"{name}.png")


if __name__ == "__main__":
    main()
