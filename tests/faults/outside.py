"""Looks at processes, descriptors and shared memory from outside."""

import os
import pathlib
import subprocess
import sys
import time

import psutil

ROOT = pathlib.Path(__file__).parents[2]


def children():
    """The living processes that this one started, directly or not."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found


def descriptors():
    return sorted(os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if _is_open(fd))


def _is_open(fd):
    try:
        os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return False
    return True


def shared_memory():
    """What this library has in /dev/shm; other programs may come and go."""
    return sorted(name for name in os.listdir("/dev/shm") if "grain" in name)


def wait_until(condition, seconds=20.0):
    """Waits for something that another process does; the deadline only ends a test that has failed."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


class Script:
    """A program of a user's, run as the user would run it."""

    def __init__(self, tmp_path):
        self.tmp_path = tmp_path
        self.processes = []
        self.env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "default"}

    def start(self, code, how="file", **options):
        command = [sys.executable]
        stdin = None
        if how == "file":
            path = self.tmp_path / "train.py"
            path.write_text(code)
            command.append(str(path))
        elif how == "-c":
            command += ["-c", code]
        else:
            command.append("-")
            stdin = subprocess.PIPE
        process = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.env,
            cwd=self.tmp_path,
            **options,
        )
        self.processes.append(process)
        if stdin is not None:
            process.stdin.write(code)
            process.stdin.close()
            process.stdin = None
        return process

    def end(self):
        """Ends what a failed test has left running."""
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            for pipe in (process.stdout, process.stderr):
                pipe.close()
            process.wait()

    def run(self, code, how="file"):
        process = self.start(code, how)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err
