"""A training run that is killed over and over ends as one that never was."""

import os
import pathlib
import random
import signal
import subprocess
import sys

import pytest

pytest.importorskip("jax")

SCRIPT = pathlib.Path(__file__).with_name("train_script.py")
STEPS = 120
WORKERS = [0, 2, 1, 3, 0, 1, 2, 0, 3, 2]


def start(directory, workers, most):
    return subprocess.Popen(
        [sys.executable, SCRIPT, directory, str(STEPS), str(workers), str(most)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
    )


def note(line, seen):
    """Adds a step to those seen before; one that is taken again must be the same."""
    name, _, rest = line.strip().partition(" ")
    assert seen.setdefault(name, rest) == rest, f"step {name} was another one before a kill"


def run_to_the_end(directory, workers, seen):
    with start(directory, workers, STEPS + 1) as process:
        for line in process.stdout:
            note(line, seen)
    assert process.returncode == 0


@pytest.mark.slow
def test_a_run_killed_ten_times_takes_the_same_batches_and_ends_with_the_same_parameters(tmp_path):
    expected = {}
    run_to_the_end(tmp_path / "whole", 0, expected)
    assert len(expected) == STEPS + 1

    rng = random.Random(5)
    seen = {}
    for workers in WORKERS:
        with start(tmp_path / "killed", workers, 10) as process:
            # Some steps later, somewhere between here and there: the run does not wait for us.
            for _ in range(rng.randrange(1, 9)):
                note(process.stdout.readline(), seen)
            process.send_signal(signal.SIGKILL)
            for line in process.stdout:
                if line.endswith("\n"):
                    note(line, seen)
        assert process.returncode == -signal.SIGKILL
    run_to_the_end(tmp_path / "killed", 1, seen)
    assert seen == expected
