"""Threads within a worker: the same elements and errors in the same places, several at once where reading waits."""

import threading
import time

import numpy as np
import pytest

import grain
from grain._src.engine.fan import Fan
from grain._src.nodes import reading
from grain._src.nodes.base import EarlyStop

M = grain.MapDataset


def waiting(x):
    time.sleep(2e-3)
    return x


def warmed(most=4):
    """A fan that has seen waiting reads."""
    fan, node = Fan(most, workers=1), M.range(100).map(waiting)._node
    for _ in range(20):
        with fan:
            list(reading.stream(node, np.arange(8)))
    return fan


def read(fan, ds, indices):
    """The elements before the error, and the error."""
    elements, error = [], None
    with fan:
        try:
            elements.extend(reading.stream(ds._node, np.asarray(indices)))
        except Exception as raised:
            error = raised
    return elements, error


def thread_of(_x):
    time.sleep(2e-3)
    return threading.get_ident()


def test_reads_that_wait_are_spread_over_the_threads_that_are_allowed():
    threads, _ = read(warmed(4), M.range(100).map(thread_of), range(40))
    assert len(set(threads)) == 4
    for most in (0, 1):
        threads, _ = read(warmed(most), M.range(100).map(thread_of), range(40))
        assert set(threads) == {threading.get_ident()}


def test_quick_reads_stay_in_the_thread_that_asks():
    fan = Fan(16, workers=1)
    for _ in range(50):
        threads, _ = read(fan, M.range(100).map(lambda _: threading.get_ident()), range(10))
        assert set(threads) == {threading.get_ident()}


def test_elements_come_in_the_order_of_their_indices():
    ds = M.range(1000).shuffle(seed=3).map(waiting)
    assert read(warmed(), ds, range(50)) == ([ds[i] for i in range(50)], None)


def test_an_error_comes_after_what_is_before_it():
    def fails_at_17(x):
        time.sleep(1e-3)
        if x in (17, 30):
            raise KeyError(x)
        return x

    elements, error = read(warmed(), M.range(100).map(fails_at_17), range(40))
    assert elements == list(range(17))
    assert isinstance(error, KeyError)
    assert error.args == (17,)


def test_a_function_that_stops_is_an_early_stop():
    def stops(x):
        if x == 9:
            raise StopIteration
        return x

    elements, error = read(warmed(), M.range(100).map(stops), range(40))
    assert elements == list(range(9))
    assert isinstance(error, EarlyStop)


def test_afterwards_everybody_reads_for_himself():
    read(warmed(), M.range(100), range(40))
    threads = list(reading.stream(M.range(9).map(thread_of)._node, np.arange(9)))
    assert set(threads) == {threading.get_ident()}


class Remote:
    """Records that take their time to come."""

    def __len__(self):
        return 600

    def __getitem__(self, index):
        time.sleep(5e-3)
        return {"x": np.full(3000, index), "thread": threading.get_ident()}


@pytest.mark.parametrize("num_threads", [0, 16])
@pytest.mark.parametrize("batch_size", [None, 30])
def test_workers_read_with_as_many_threads_as_the_read_options_allow(num_threads, batch_size):
    ds = M.source(Remote())
    ds = ds.batch(batch_size) if batch_size else ds
    ds = ds.to_iter_dataset(grain.ReadOptions(num_threads, 16)).mp_prefetch(grain.MultiprocessingOptions(1, 2))
    with ds.__iter__() as iterator:
        next(iterator)
        began = time.perf_counter()
        rest = list(iterator)
        seconds = time.perf_counter() - began
    xs = np.concatenate([np.atleast_2d(element["x"])[:, 0] for element in rest])
    assert xs.tolist() == list(range(batch_size or 1, 600))
    threads = {int(t) for element in rest for t in np.atleast_1d(element["thread"])}
    assert (len(threads) > 1) == bool(num_threads)
    assert (seconds < 0.6 * 600 * 5e-3) == bool(num_threads)
