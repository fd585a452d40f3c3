"""The environments of the contestants: made on first use under a cache directory, reused afterwards."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.contestants import ENVIRONMENTS, ROOT

CACHE = Path(os.environ.get("GRAIN_BENCH_CACHE", ROOT / "benchmarks" / ".envs"))


class NotInstalled(Exception):
    """An environment that cannot be made here; the message is the installer's last word."""


def python(env: str) -> Path:
    """The interpreter of an environment, which is made if it is missing or its packages have changed."""
    home, packages = CACHE / env, "\n".join(ENVIRONMENTS[env])
    interpreter, stamp = home / "bin" / "python", home / "packages.txt"
    if stamp.exists() and stamp.read_text() == packages:
        return interpreter
    print(f"making the environment {env}: {', '.join(ENVIRONMENTS[env])}", file=sys.stderr, flush=True)
    shutil.rmtree(home, ignore_errors=True)
    for command in (
        [sys.executable, "-m", "venv", str(home)],
        [str(interpreter), "-m", "pip", "install", "-q", "--disable-pip-version-check", *ENVIRONMENTS[env]],
    ):
        made = subprocess.run(command, capture_output=True, text=True)
        if made.returncode:
            raise NotInstalled(f"{env}: {(made.stderr or made.stdout).strip().splitlines()[-1]}")
    stamp.write_text(packages)
    return interpreter


def import_root() -> Path:
    """A directory from which `benchmarks` can be imported, but not the library of the same repository."""
    root = CACHE / "root"
    root.mkdir(parents=True, exist_ok=True)
    link = root / "benchmarks"
    if not link.is_symlink() or link.resolve() != ROOT / "benchmarks":
        link.unlink(missing_ok=True)
        link.symlink_to(ROOT / "benchmarks", target_is_directory=True)
    return root


def versions(env: str) -> dict[str, str]:
    """The packages that an environment holds."""
    listed = subprocess.run(
        [str(python(env)), "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check"],
        capture_output=True,
        text=True,
    )
    return dict(line.split("==", 1) for line in listed.stdout.splitlines() if "==" in line)
