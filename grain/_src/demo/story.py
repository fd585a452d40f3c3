"""Runs the training three times in processes of their own: whole, killed half way, and resumed; then compares."""

import argparse
import dataclasses
import json
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from grain._src.demo import digits
from grain._src.demo.screen import Screen
from grain._src.demo.training import SAVE_EVERY, Model, Run, train


@dataclasses.dataclass
class Outcome:
    """What a run reported: the digest of each step's batch, and at the end the parameters."""

    begin: int = 0
    batches: dict[int, str] = dataclasses.field(default_factory=dict)
    parameters: str = ""


def main(command: Sequence[str], make_model: Callable[[], Model], what: str, arguments: Sequence[str]) -> int:
    """Tells the story, or is one of its runs.

    Args:
      command: starts this program again.
      make_model: what to train.
      what: the model in words.
      arguments: those of the command line.
    """
    parser = argparse.ArgumentParser(prog="demo", description="Train, be killed, resume: nothing changes.")
    parser.add_argument("--steps", type=int, default=400, help="how long to train (default: %(default)s)")
    parser.add_argument("--kill-at", type=int, help="the step at which to kill the second run (default: random)")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.run is not None:
        train(Run(**json.loads(options.run)), make_model)
        return 0
    # When the second checkpoint is begun the first is complete, also where saving goes on in the background.
    least = 2 * SAVE_EVERY + 1
    if options.steps <= least:
        parser.error(f"--steps must be more than {least}, got {options.steps}")
    if options.kill_at is not None and not least <= options.kill_at <= options.steps:
        parser.error(f"--kill-at must be between {least} and {options.steps}, got {options.kill_at}")
    kill_at = options.kill_at or random.SystemRandom().randint(max(least, options.steps // 3), options.steps * 2 // 3)
    with tempfile.TemporaryDirectory(prefix="grain-demo-") as directory:
        return 0 if _tell(list(command), what, options.steps, kill_at, Path(directory)) else 1


def _tell(command: list[str], what: str, steps: int, kill_at: int, directory: Path) -> bool:
    screen, began = Screen(), time.monotonic()
    screen.heading("1. Data: 1,797 handwritten digits of 8×8 pixels (UCI, CC BY 4.0)")
    files = digits.write_files(directory)
    for file in files:
        screen.note(f"{Path(file).name}: {Path(file).stat().st_size:,} bytes")
    screen.note("the pipeline, and what runs where:")
    for line in str(digits.pipeline(files, 2)).splitlines():
        screen.note(f"  {line}")

    screen.heading(f"2. {what}, 2 worker processes, uninterrupted")
    whole = _watch(command, Run(files, str(directory / "whole"), 2, steps), screen)

    screen.heading("3. The same again, killed (SIGKILL) at a random step")
    broken = Run(files, str(directory / "broken"), 2, steps)
    killed = _watch(command, broken, screen, kill_at)
    screen.note(
        f"killed after step {max(killed.batches)}, without warning; a checkpoint is begun every {SAVE_EVERY} steps"
    )

    screen.heading("4. Resumed from its last checkpoint, with 3 workers instead of 2")
    resumed = _watch(command, dataclasses.replace(broken, workers=3), screen)

    screen.heading("5. What changed?")
    again = set(killed.batches) & set(resumed.batches)
    together = {**killed.batches, **resumed.batches}
    checks = {
        f"resumed at step {resumed.begin}; {len(again)} steps were repeated and had the same batches": all(
            killed.batches[step] == resumed.batches[step] for step in again
        )
        and resumed.begin > 0,
        f"all {len(whole.batches)} batches equal those of the uninterrupted run": together == whole.batches,
        f"the final parameters are equal, bit for bit ({whole.parameters})": resumed.parameters == whole.parameters,
    }
    for text, good in checks.items():
        screen.verdict(good, text)
    screen.note(f"all of this took {time.monotonic() - began:.0f} s")
    return all(checks.values())


def _watch(command: list[str], run: Run, screen: Screen, kill_at: int | None = None) -> Outcome:
    """Starts a run and shows its progress; kills it after step `kill_at`."""
    # Matrices are small here: more threads for them would only take the cores from the workers.
    environment = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", **os.environ}
    arguments = [*command, "--run", json.dumps(dataclasses.asdict(run))]
    outcome = Outcome()
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            for report in _reports(process):
                match report["event"]:
                    case "begin":
                        outcome.begin = report["step"]
                    case "step":
                        outcome.batches[report["step"]] = report["batch"]
                        screen.progress(report, run.steps)
                        if report["step"] == kill_at:
                            break
                    case "end":
                        outcome.parameters = report["parameters"]
        except BaseException:
            process.kill()
            raise
        if kill_at in outcome.batches:
            process.kill()
        screen.end_progress()
    if process.returncode and kill_at not in outcome.batches:
        raise SystemExit(f"the training failed with status {process.returncode}")
    return outcome


def _reports(process: "subprocess.Popen[str]") -> Iterator[dict[str, Any]]:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("{"):
            yield json.loads(line)
