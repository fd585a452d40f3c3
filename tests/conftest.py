"""What holds for all tests: how hypothesis searches, and how worker processes are found."""

import contextlib
import time

import psutil
import pytest
from hypothesis import HealthCheck, settings

# Machines that run tests are busy: a slow example says nothing, and the same examples everywhere make failures repeat.
settings.register_profile(
    "repository", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
settings.load_profile("repository")


def _worker_pids():
    found = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended
            while not (words := child.cmdline()) and child.status() != psutil.STATUS_ZOMBIE:
                time.sleep(1e-3)  # for a moment after its start a process has no command line
            if any("processes.worker" in word for word in words):
                found.append(child.pid)
    return sorted(found)


@pytest.fixture
def worker_pids():
    """The worker processes; other children, such as the tracker of shared memory, may be there from tests before."""
    return _worker_pids
