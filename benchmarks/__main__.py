"""The command: `python -m benchmarks run [NAME ...]`, `check`, `report`, `list`, `profile NAME`."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from benchmarks import ratios, report
from benchmarks.contestants import CONTESTANTS, ROOT
from benchmarks.environments import NotInstalled, import_root, python
from benchmarks.process import Process
from benchmarks.run import Bench, all_versions, circumstances

_SHORT_MINUTES = 13.5
RESULTS = ROOT / "benchmarks" / "results"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure, then write JSON, table and plots")
    run.add_argument("names", nargs="*", metavar="NAME", help="workloads; all of them without a name")
    run.add_argument("--short", action="store_true", help="the short set, in under 15 minutes")
    run.add_argument("--row", help="only rows whose name contains this")
    run.add_argument("--contestants", help="only these, separated by commas")
    run.add_argument("--repetitions", type=int, help="of each row, at the most")
    run.add_argument("--minutes", type=float, help="for all rows together: more of them, more repetitions")
    run.add_argument("--seconds", type=float, help="the time that one measurement takes")
    run.add_argument("--results", type=Path, default=RESULTS, help="where to write (default: %(default)s)")
    for name, about in (
        ("check", "compare the last results with the floors"),
        ("report", "write table and plots again"),
    ):
        commands.add_parser(name, help=about).add_argument("--results", type=Path, default=RESULTS)
    commands.add_parser("list", help="name the workloads and their rows")
    profile = commands.add_parser("profile", help="show where this library spends its time")
    profile.add_argument("name")
    profile.add_argument("--row", default="")
    profile.add_argument("--setting", default="default")
    profile.add_argument("--seconds", type=float, default=2.0)
    return parser.parse_args()


def _run(options: argparse.Namespace) -> int:
    repetitions = options.repetitions or (6 if options.short else 10)
    seconds = options.seconds or (0.1 if options.short else 0.2)
    made_by = circumstances(f"python -m benchmarks {' '.join(sys.argv[1:])}")
    if made_by["machine"]["load"] > made_by["machine"]["cores"] / 2:
        print(
            f"the machine is busy (load {made_by['machine']['load']}): ratios will be noisy, most of all with workers"
        )
    minutes = options.minutes or (_SHORT_MINUTES if options.short else float("inf"))
    with Bench(repetitions, seconds, 60 * minutes) as bench:
        rows = bench.describe()
        known = {row["workload"] for row in rows}
        if unknown := set(options.names) - known:
            print(f"no workload named {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
            return 2
        chosen = []
        for row in rows:
            wanted = not options.names or row["workload"] in options.names
            if wanted and (row["short"] or not options.short) and (options.row or "") in row["row"]:
                if options.contestants:
                    row["contestants"] = [who for who in row["contestants"] if who in options.contestants.split(",")]
                chosen.append(row)
        results = bench.run(chosen)
    _write(options.results, {name: {**entry, "run": made_by} for name, entry in results.items()})
    return 0


def _write(directory: Path, results: dict[str, object]) -> None:
    """Replaces the workloads that were measured, and keeps the others."""
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "results.json"
    stored = json.loads(file.read_text()) if file.exists() else {"workloads": {}}
    stored["versions"] = all_versions()
    stored["workloads"].update(results)
    file.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n")
    _report(directory)


def _report(directory: Path) -> int:
    results = json.loads((directory / "results.json").read_text())
    (directory / "results.md").write_text(report.markdown(results))
    try:
        subprocess.run(
            [str(python("plots")), "-m", "benchmarks.plots", str(directory.resolve())], cwd=import_root(), check=True
        )
    except NotInstalled as reason:
        print(f"no plots: {reason}")
    print(f"written: {directory}")
    return 0


def _check(directory: Path) -> int:
    file = directory / "results.json"
    if not file.exists():
        print(f"nothing to compare: {file} does not exist; `python -m benchmarks run` makes it")
        return 2
    goals = ratios.goals(json.loads(file.read_text()))
    for goal in goals:
        print(goal.line())
    failed = [goal for goal in goals if goal.asserted and not goal.holds and not goal.even]
    even = sum(goal.even for goal in goals)
    print(
        f"{len(goals)} goals: {len(failed)} do not hold, {even} are even (the reference is ahead by {ratios.PRECISION:.0%} at the most)"
    )
    return 1 if failed else 0


def _list() -> int:
    process = Process(CONTESTANTS["ours"])
    for row in process.ask(60, do="describe"):
        short = "short" if row["short"] else "     "
        print(f"{row['workload']:14} {short} {row['row']:40} {', '.join(row['contestants'])}")
    process.stop()
    return 0


def _profile(options: argparse.Namespace) -> int:
    process = Process(CONTESTANTS["ours"])
    request = {"workload": options.name, "row": options.row, "setting": options.setting, "seconds": options.seconds}
    print(process.ask(600, do="profile", **request))
    process.stop()
    return 0


def main() -> int:
    options = _arguments()
    if options.command == "run":
        return _run(options)
    if options.command == "profile":
        return _profile(options)
    if options.command == "list":
        return _list()
    return _check(options.results) if options.command == "check" else _report(options.results)


if __name__ == "__main__":
    sys.exit(main())
