"""Fixtures of the fault tests; what they look with is in outside.py."""

import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).parent))

from outside import Script, children, descriptors, shared_memory


@pytest.fixture
def script(tmp_path):
    made = Script(tmp_path)
    yield made
    made.end()


@pytest.fixture
def nothing_is_left():
    """Checks that a test leaves no process, no descriptor and no shared memory behind."""
    before = descriptors(), shared_memory()
    yield
    assert children() == []
    assert descriptors() == before[0]
    assert shared_memory() == before[1]
