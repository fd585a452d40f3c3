"""The orchestrator's end of a contestant's process: one request at a time, each with a deadline."""

import contextlib
import functools
import json
import os
import select
import signal
import subprocess
import sys
from typing import Any

from benchmarks import guard
from benchmarks.contestants import Contestant
from benchmarks.environments import CACHE, import_root, python


class Failed(Exception):
    """A measurement that gave no number; the message says why."""


@functools.cache
def fixed_addresses() -> tuple[str, ...]:
    """What starts a program so that its code and memory lie at the same addresses each time; nothing where that cannot be.

    Where the interpreter happens to be loaded makes a tenth of the speed of a Python loop, for as long as its process lives.
    """
    command = "setarch", "--addr-no-randomize"
    with contextlib.suppress(OSError):
        if subprocess.run([*command, "true"], capture_output=True).returncode == 0:
            return command
    return ()


class _Guard:
    """A process that ends those that were started, should this one be killed: who is stopped cannot notice it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._groups: set[int] = set()

    def note(self, group: int) -> None:
        """Takes note that a group of processes was started, or, the second time, that it was ended."""
        if self._process is None:
            command = [sys.executable, guard.__file__]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
        assert self._process.stdin is not None
        self._process.stdin.write(b"%d\n" % group)
        self._process.stdin.flush()
        self._groups ^= {group}
        if not self._groups:
            self._process.communicate()
            self._process = None


_guard = _Guard()


class Process:
    """A contestant that is kept alive between measurements; started again after it died or hung.

    It runs only while it is asked something. Then it is stopped where it is, with its threads and workers: they go on as
    if no time had passed, have not used the pause to get ahead, and have not been in the way of the others.
    """

    def __init__(self, contestant: Contestant) -> None:
        self._contestant = contestant
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, deadline: float, **request: Any) -> Any:
        """The answer's value; Failed if there is an error instead, or no answer within `deadline` seconds."""
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        self._signal(signal.SIGCONT)
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            self.stop()
            raise Failed("the process died while it was idle") from None
        if not select.select([process.stdout], [], [], deadline)[0]:
            self.stop()
            raise Failed(f"no answer within {deadline:.0f} s")
        line = process.stdout.readline()
        self._signal(signal.SIGSTOP)
        if not line:
            process.wait()
            code = process.returncode
            self.stop()
            raise Failed(f"the process died (exit status {code}), see {self._log()}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer["value"]

    def stop(self) -> None:
        """Ends the process and whatever it started."""
        if self._process is None:
            return
        guard.end(self._process.pid)
        self._process.communicate()
        _guard.note(self._process.pid)
        self._process = None

    def _signal(self, number: signal.Signals) -> None:
        """Tells it and whatever it started."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def _log(self) -> str:
        return str(CACHE / f"{self._contestant.name}.log")

    def _start(self) -> "subprocess.Popen[bytes]":
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, self._contestant.path))}
        environment["GRAIN_BENCH_CACHE"] = str(CACHE)
        interpreter = python(self._contestant.env)
        with open(self._log(), "ab") as log:
            self._process = subprocess.Popen(
                [*fixed_addresses(), str(interpreter), "-m", "benchmarks.server"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=import_root(),
                env=environment,
                start_new_session=True,
            )
        _guard.note(self._process.pid)
        return self._process
