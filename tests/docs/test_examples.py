"""The examples run, in their short form, as scripts of their own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from . import pages

EXAMPLES = pages.ROOT / "examples"
NEEDS = {
    "changing_mixture.py": (),
    "images_from_folder.py": ("PIL",),
    "packed_language_model.py": ("jax", "flax", "optax"),
    "several_jax_processes.py": ("jax",),
    "torch_loop.py": ("torch",),
}
STORY = ("--steps", "60", "--kill-at", "55")


def run(arguments: list[str], directory: Path) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=directory,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_each_example_is_tested() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {*NEEDS, "demo.py"}


@pytest.mark.parametrize("name", NEEDS)
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    for package in NEEDS[name]:
        pytest.importorskip(package)
    run([str(EXAMPLES / name), "--short"], tmp_path)


@pytest.mark.parametrize("model", ["numpy", "nnx"])
def test_the_demonstration_is_killed_and_resumes_with_the_same_batches_and_parameters(
    model: str, tmp_path: Path
) -> None:
    if model == "nnx":
        for package in ("jax", "flax", "optax", "orbax.checkpoint"):
            pytest.importorskip(package)
    program = ["-m", "grain", "demo"] if model == "numpy" else [str(EXAMPLES / "demo.py")]
    printed = run([*program, *STORY], tmp_path)
    assert printed.count("✓") == 3, printed
    assert "killed after step 55" in printed
    assert re.search(r"resumed at step (25|50);", printed), printed


def test_an_unknown_command_says_what_there_is() -> None:
    done = subprocess.run([sys.executable, "-m", "grain", "dmeo"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "python -m grain demo" in done.stderr
