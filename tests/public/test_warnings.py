"""A warning points at the line of the user's program that it is about."""

import inspect
import os
import signal

import pytest

import grain


def here():
    """The line of whoever asks."""
    return inspect.currentframe().f_back.f_lineno


def only(caught):
    (warning,) = caught
    assert warning.filename == __file__
    return warning.lineno


@pytest.mark.parametrize("options", [grain.ReadOptions(0, 0), grain.ReadOptions()])
def test_a_filter_that_drops_too_much(options):
    ds = grain.MapDataset.range(3000).filter(lambda x: x % 100 == 0).to_iter_dataset(options)
    with pytest.warns(UserWarning, match="dropped") as caught:
        line, _ = here(), list(ds.batch(3))
    assert only(caught) == line


def test_a_worker_that_is_killed(worker_pids):
    ds = grain.MapDataset.range(1000).to_iter_dataset().mp_prefetch(grain.MultiprocessingOptions(num_workers=1))
    with iter(ds) as it:
        for pid in worker_pids():
            os.kill(pid, signal.SIGKILL)
        with pytest.warns(RuntimeWarning, match="was killed") as caught:
            line, found = here(), list(it)
    assert only(caught) == line and found == list(range(1000))


def test_a_source_that_is_the_name_of_a_file():
    with pytest.warns(UserWarning, match="a character a record") as caught:
        line, _ = here(), grain.MapDataset.source(__file__)
    assert only(caught) == line
