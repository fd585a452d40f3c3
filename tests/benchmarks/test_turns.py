"""How contestants take turns: who does not have its turn stands still."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from benchmarks import process
from benchmarks.contestants import CONTESTANTS, ROOT
from benchmarks.process import Failed, Process

# Answers every question with how often a thread of it has counted so far.
_COUNTER = """
import json, sys, threading, time
count = 0
def run():
    global count
    while True:
        count += 1
        time.sleep(0.001)
threading.Thread(target=run, daemon=True).start()
for line in sys.stdin:
    time.sleep(json.loads(line)["seconds"])
    print(json.dumps({"value": count}), flush=True)
"""


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Process:
    """A process that counts while it runs."""
    script = tmp_path / "counter"
    script.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{_COUNTER}'\n")
    script.chmod(0o755)
    monkeypatch.setattr(process, "python", lambda _env: script)
    monkeypatch.setattr(process, "CACHE", tmp_path)
    return Process(CONTESTANTS["ours"])


def test_a_contestant_gets_nothing_done_between_its_turns(counter: Process) -> None:
    try:
        first = counter.ask(10, seconds=0.2)
        time.sleep(0.5)
        second = counter.ask(10, seconds=0.0)
        assert first > 20
        assert second - first < first / 2, "it went on while others had their turn"
        assert counter.ask(10, seconds=0.2) > second + 20, "it goes on in its own turn"
    finally:
        counter.stop()


def test_one_that_does_not_answer_is_ended_and_started_again(counter: Process) -> None:
    try:
        with pytest.raises(Failed, match="no answer"):
            counter.ask(0.2, seconds=60)
        assert counter.ask(10, seconds=0.0) >= 0
    finally:
        counter.stop()


@pytest.mark.skipif(not process.fixed_addresses(), reason="addresses cannot be fixed here")
def test_code_lies_at_the_same_addresses_each_time(counter: Process, tmp_path: Path) -> None:
    script = _COUNTER.replace('"value": count', '"value": open("/proc/self/maps").readline().split()[0]')
    (tmp_path / "counter").write_text(f"#!/bin/sh\nexec {sys.executable} -c '{script}'\n")
    found = set()
    for _ in range(3):
        found.add(counter.ask(10, seconds=0.0))
        counter.stop()
    assert len(found) == 1


def wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not done() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert done()


def keep_shared_memory(script: Path) -> None:
    """Has the contestant make some, and answer with its name."""
    made = (
        "from multiprocessing.shared_memory import SharedMemory as S; kept = S(create=True, size=64); name = kept.name"
    )
    code = _COUNTER.replace("count = 0", f"count = 0; {made}", 1).replace('"value": count', '"value": name')
    script.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{code}'\n")


def answer_to_a_killed_command(script: Path) -> str:
    """What a contestant answers to a command that is killed then."""
    code = f"""
import os, signal
from benchmarks import process
from benchmarks.contestants import CONTESTANTS
process.python = lambda env: {str(script)!r}
process.CACHE = __import__("pathlib").Path({str(script.parent)!r})
contestant = process.Process(CONTESTANTS["ours"])
print(contestant.ask(10, seconds=0.0), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT).stdout.strip()


def test_one_that_is_ended_leaves_no_shared_memory(counter: Process, tmp_path: Path) -> None:
    keep_shared_memory(tmp_path / "counter")
    segment = Path("/dev/shm", counter.ask(10, seconds=0.0))
    assert segment.exists()
    counter.stop()
    wait_until(lambda: not segment.exists())


@pytest.mark.usefixtures("counter")
def test_nor_does_one_whose_command_is_killed(tmp_path: Path) -> None:
    keep_shared_memory(tmp_path / "counter")
    name = answer_to_a_killed_command(tmp_path / "counter")
    assert name
    wait_until(lambda: not Path("/dev/shm", name).exists())


def test_stopped_contestants_and_their_workers_end_when_the_command_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text(
        "#!/bin/sh\nsleep 600 &\nread line\necho '{\"value\": '$!'}'\nread line\n"  # answers with its worker's number
    )
    script.chmod(0o755)
    worker = int(answer_to_a_killed_command(script))
    wait_until(lambda: not psutil.pid_exists(worker) or psutil.Process(worker).status() == psutil.STATUS_ZOMBIE)
