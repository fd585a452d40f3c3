"""Ends groups of processes: those that it is told of, when whoever tells it is gone.

Runs as a program of its own: who is stopped cannot notice that the command that stopped it was killed.
"""

import contextlib
import os
import signal
import sys
from pathlib import Path


def end(group: int) -> None:
    """Kills the processes of a group. Those that are spared remove what the others leave in /dev/shm, and end."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGSTOP)  # so that none is started meanwhile
        for pid in _members(group):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        os.killpg(group, signal.SIGCONT)


def _members(group: int) -> list[int]:
    """The processes of a group, but for Python's trackers of shared memory."""
    found, processes = [], Path("/proc")
    if not processes.is_dir():
        return [-group]  # which stands for all of them
    for entry in processes.iterdir():
        with contextlib.suppress(OSError, ValueError):
            pid = int(entry.name)
            if os.getpgid(pid) == group and b"resource_tracker" not in (entry / "cmdline").read_bytes():
                found.append(pid)
    return found


def main() -> None:
    """Reads numbers of groups, one a line; the second time that one comes it has been ended."""
    groups = set[int]()
    for line in sys.stdin:
        groups ^= {int(line)}
    for group in groups:
        end(group)


if __name__ == "__main__":
    main()
