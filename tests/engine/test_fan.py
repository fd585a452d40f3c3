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


def new():
    """A fan that has yet to find out."""
    return Fan(4, workers=1)


FANS = pytest.mark.parametrize("make_fan", [warmed, new])


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


def test_a_first_block_finds_out_that_reading_waits():
    threads, _ = read(new(), M.range(100).map(thread_of), range(40))
    assert threads[0] == threading.get_ident()
    assert len(set(threads[10:])) == 4


@pytest.mark.parametrize("count", range(6))
def test_a_first_block_may_end_when_it_is_found_out(count):
    assert read(new(), M.range(100).map(waiting), range(count)) == (list(range(count)), None)


def test_quick_reads_stay_in_the_thread_that_asks():
    fan = Fan(16, workers=1)
    for _ in range(50):
        threads, _ = read(fan, M.range(100).map(lambda _: threading.get_ident()), range(10))
        assert set(threads) == {threading.get_ident()}


def spin(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def blocks_with_threads():
    """How many of 60 blocks are read by threads, if what is done with the elements takes much longer than to read them."""
    fan, fanned = Fan(16, workers=1), 0
    fan._tuner._cores = 2  # also where there is one
    node = M.range(100).map(lambda _: threading.get_ident())._node
    for number in range(60):
        with fan:
            threads = set(reading.stream(node, np.arange(20)))
            spin(2e-3 if number else 0.1)
        fanned += len(threads) > 1 or threading.get_ident() not in threads
    return fanned


def test_threads_of_no_use_are_soon_given_up_although_the_first_block_took_long():
    # Where other processes have the cores, one of these measurements may tell nothing; not all of them.
    assert any(blocks_with_threads() <= 5 for _ in range(10))


@pytest.mark.parametrize("alone", [5e-3, 40e-3])
def test_threads_go_on_only_if_they_are_quicker_than_reading_alone_is_now(monkeypatch, alone):
    """The first blocks took long because of others: what threads are compared with is measured again."""
    now, number = 0.0, 0

    def reads(x):
        nonlocal now
        now += (40e-3 if number < 3 else 5e-3 if fan.fanned else alone) / 20
        return x

    monkeypatch.setattr("grain._src.engine.fan.perf_counter", lambda: now)
    monkeypatch.setattr("grain._src.engine.fan.thread_time", lambda: 0.0)
    fan, node, with_threads = Fan(4, workers=1), M.range(100).map(reads)._node, []
    for number in range(400):
        with fan:
            list(reading.stream(node, np.arange(20)))
        with_threads.append(fan.fanned)
    assert any(with_threads[:20])
    if alone > 5e-3:
        assert sum(with_threads) > 350
    else:
        assert sum(with_threads) < 50


@FANS
def test_elements_come_in_the_order_of_their_indices(make_fan):
    ds = M.range(1000).shuffle(seed=3).map(waiting)
    assert read(make_fan(), ds, range(50)) == ([ds[i] for i in range(50)], None)


@FANS
@pytest.mark.parametrize("place", [0, 1, 3, 17])
def test_an_error_comes_after_what_is_before_it(make_fan, place):
    def fails(x):
        time.sleep(1e-3)
        if x in (place, 30):
            raise KeyError(x)
        return x

    elements, error = read(make_fan(), M.range(100).map(fails), range(40))
    assert elements == list(range(place))
    assert isinstance(error, KeyError)
    assert error.args == (place,)


@FANS
@pytest.mark.parametrize("place", [0, 1, 3, 17])
def test_a_function_that_stops_is_an_early_stop(make_fan, place):
    def stops(x):
        time.sleep(1e-3)
        if x == place:
            raise StopIteration
        return x

    elements, error = read(make_fan(), M.range(100).map(stops), range(40))
    assert elements == list(range(place))
    assert error is None or isinstance(error, EarlyStop)  # who reads alone ends, and whoever asked sees it is too soon


@pytest.mark.parametrize("batch_size", [1, 2, 40])
def test_threads_go_on_with_batches_of_any_size(batch_size):
    fan, ds = Fan(4, workers=1), M.range(1000).map(waiting).batch(batch_size)
    fanned = []
    for _ in range(12):
        read(fan, ds, range(80 // batch_size))
        fanned.append(fan.fanned)
    assert fanned == [True] * 12


class Counted:
    """Records that take their time to come, and know how often they were asked for."""

    def __init__(self):
        self.reads = []

    def __len__(self):
        return 1000

    def __getitem__(self, index):
        self.reads.append(index)
        time.sleep(1e-3)
        return index


AHEAD = {
    "elements": lambda ds: ds.shuffle(seed=1),
    "batches": lambda ds: ds.batch(10),
    "many batches": lambda ds: ds.batch(2),
    "maps of batches": lambda ds: ds.batch(10).map(lambda batch: batch + 1),
    "shuffled batches": lambda ds: ds.batch(10).shuffle(seed=2),
    "batches of batches": lambda ds: ds.batch(5).batch(2),
}


@pytest.mark.parametrize("name", AHEAD)
def test_threads_begin_with_the_next_block_and_read_nothing_twice(name):
    source, upcoming = Counted(), []
    fan = Fan(4, workers=1, upcoming=lambda: upcoming[0] if upcoming else None)
    ds, plain = AHEAD[name](M.source(source)), AHEAD[name](M.range(1000))
    width = ds._node.width
    blocks = [np.arange(number, number + 40 // width) for number in range(0, 400 // width, 40 // width)]
    for block in blocks[:2]:  # it finds out that reading waits
        read(fan, ds, block)
    source.reads.clear()
    early = []
    for number, block in enumerate(blocks[2:], 3):
        upcoming[:] = [(ds._node, following) for following in blocks[number : number + 1]]
        elements, error = read(fan, ds, block)
        early.append(len(source.reads) - 40 * (number - 2))
        assert error is None
        assert np.array_equal(elements, [plain[int(at)] for at in block])
    assert max(early) > 0
    assert len(source.reads) == len(set(source.reads)) == 320


@pytest.mark.parametrize("followed", [False, True])
def test_a_next_block_that_does_not_come_is_forgotten(followed):
    ds = M.range(1000).map(waiting)
    fan = warmed()
    fan._upcoming = lambda: (ds._node, np.arange(500, 540))
    assert read(fan, ds, range(40)) == (list(range(40)), None)
    assert fan._ahead is not None
    fan._upcoming = lambda: None
    if followed:
        assert read(fan, ds, range(40, 80)) == (list(range(40, 80)), None)
    else:
        read(fan, ds, [])
    assert fan._ahead is None


def test_what_fails_in_the_next_block_fails_there():
    def fails(x):
        time.sleep(1e-3)
        return 1 // (x - 60)

    ds, fan = M.range(1000).map(fails).batch(5), warmed()
    fan._upcoming = lambda: (ds._node, np.arange(8, 16))
    assert len(read(fan, ds, range(8))[0]) == 8
    fan._upcoming = lambda: None
    elements, error = read(fan, ds, range(8, 16))
    assert len(elements) == 4
    assert isinstance(error, ZeroDivisionError)


def test_a_mixture_begins_nothing_ahead_that_it_may_not_be_asked_for():
    ds, fan = M.mix([M.range(1000).map(waiting).batch(20), M.range(1000).batch(20)]), warmed()
    fan._upcoming = lambda: (ds._node, np.arange(6, 12))
    read(fan, ds, range(6))  # too few to be handed out themselves: their elements are
    assert fan.fanned
    assert fan._ahead is None


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
@pytest.mark.parametrize("batch_size", [None, 2, 30])
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
