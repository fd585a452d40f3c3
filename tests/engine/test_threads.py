"""Threads: ordered, bounded in elements and bytes, gone when nobody needs them."""

import gc
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import numpy as np
import pytest

import grain
from grain._src.engine import threads
from grain._src.engine.ahead import _Runner
from grain._src.engine.threads import ThreadedReader, _Work
from grain.experimental import ThreadPrefetchIterDataset

M = grain.MapDataset


OTHERS = set()  # threads of iterators that tests before these left open


def readers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("grain-") and thread not in OTHERS]


@pytest.fixture(autouse=True)
def _no_thread_is_left():
    gc.collect()
    OTHERS.update(readers())
    yield
    gc.collect()
    assert readers() == []


class Watch:
    """Counts how many elements are computed and handed out, and who computes."""

    def __init__(self, make=lambda x: x):
        self.lock = threading.Lock()
        self.make = make
        self.computed = 0
        self.handed_out = 0
        self.most_ahead = 0
        self.inside = 0
        self.most_inside = 0
        self.threads = set()

    def __call__(self, x):
        with self.lock:
            self.inside += 1
            self.most_inside = max(self.most_inside, self.inside)
            self.threads.add(threading.get_ident())
        try:
            return self.make(x)
        finally:
            with self.lock:
                self.inside -= 1
                self.computed += 1
                self.most_ahead = max(self.most_ahead, self.computed - self.handed_out)

    def take(self, it):
        element = next(it)
        with self.lock:
            self.handed_out += 1
        return element

    def settle(self):
        """Waits until nothing more is computed ahead."""
        before = -1
        while before != self.computed:
            before = self.computed
            time.sleep(0.2)


def test_slow_elements_do_not_change_the_order():
    def wait(x):
        time.sleep(0.002 * (x % 3))
        return x

    watch = Watch(wait)
    with iter(M.range(300).map(watch).to_iter_dataset(grain.ReadOptions(8, 50))) as it:
        assert [watch.take(it) for _ in range(300)] == list(range(300))
    assert len(watch.threads) > 2, "waiting reads are worth several threads"


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_no_more_threads_than_allowed_are_in_the_users_code_at_once(threads):
    def wait(x):
        time.sleep(0.001)
        return x

    watch = Watch(wait)
    with iter(M.range(150).map(watch).to_iter_dataset(grain.ReadOptions(threads, 40))) as it:
        assert list(it) == list(range(150))
    assert watch.most_inside <= threads


@pytest.mark.parametrize("buffer_size", [1, 5, 40])
def test_the_buffer_bounds_what_is_computed_ahead(buffer_size):
    watch = Watch()
    with iter(M.range(1000).map(watch).to_iter_dataset(grain.ReadOptions(4, buffer_size))) as it:
        for _ in range(5):
            watch.take(it)
            watch.settle()
        for _ in range(995):
            watch.take(it)
    assert watch.most_ahead <= 2 * buffer_size + 1, "what is ahead, and the block that is being handed out"


def test_a_budget_in_bytes_bounds_it_too():
    watch = Watch(lambda x: np.zeros(1 << 20, np.uint8))
    reader = ThreadedReader(M.range(200).map(watch)._map_node, num_threads=4, buffer_size=500, budget_bytes=8 << 20)
    reader.start(0)
    watch.settle()
    assert 2 <= watch.computed <= 9
    reader.close()


def test_elements_that_grow_are_noticed():
    watch = Watch(lambda x: np.zeros(1 << (10 if x < 50 else 20), np.uint8))
    reader = ThreadedReader(M.range(2000).map(watch)._map_node, num_threads=2, buffer_size=500, budget_bytes=16 << 20)
    position = 0
    for _ in range(40):
        block = reader.block_at(position)
        position = block.end
        watch.handed_out = position
        del block
    watch.settle()
    assert watch.computed - position <= 32
    reader.close()


def test_python_bound_code_does_not_get_a_crowd():
    watch = Watch(lambda x: sum(range(3000)))
    with iter(M.range(2000).map(watch).to_iter_dataset()) as it:
        assert len(list(it)) == 2000
    assert len(watch.threads) <= 5


@pytest.mark.parametrize("how", ["close", "collect", "exhaust and collect", "error and collect", "never started"])
@pytest.mark.parametrize("kind", ["reader", "ahead", "both"])
def test_no_thread_outlives_its_iterator(how, kind):
    def work(x):
        if how == "error and collect" and x == 20:
            raise KeyError(x)
        return x

    ds = M.range(50).map(work).to_iter_dataset(grain.ReadOptions(0 if kind == "ahead" else 4, 10))
    if kind != "reader":
        ds = ThreadPrefetchIterDataset(ds.map(lambda x: x), prefetch_buffer_size=3)
    it = iter(ds)
    if how == "never started":
        assert readers() == []
    elif how == "exhaust and collect":
        assert len(list(it)) == 50
    elif how == "error and collect":
        with pytest.raises(KeyError):
            list(it)
    else:
        next(it)
        assert readers()
    if how == "close":
        it.close()
        assert readers() == []
    gone = weakref.ref(it)
    del it
    gc.collect()
    assert gone() is None
    assert readers() == []


@pytest.mark.parametrize("kind", ["reader", "ahead"])
def test_a_thread_may_collect_its_own_iterator_while_it_holds_the_lock(kind, monkeypatch):
    owner, called_with_lock = (_Work, "_delay") if kind == "reader" else (_Runner, "_ready")
    original = getattr(owner, called_with_lock)
    abandoned = threading.Event()

    def collecting(work):
        if abandoned.is_set() and threading.current_thread() is not threading.main_thread():
            gc.collect()
        return original(work)

    monkeypatch.setattr(owner, called_with_lock, collecting)
    ds = M.range(10**9).map(lambda x: x).to_iter_dataset(grain.ReadOptions(4 if kind == "reader" else 0, 10))
    it = iter(ds if kind == "reader" else ThreadPrefetchIterDataset(ds, prefetch_buffer_size=3))
    assert next(it) == 0
    room = it._reader._work._room if kind == "reader" else it._runner._room
    it.itself = it
    gone = weakref.ref(it)
    gc.disable()  # so that it is one of its threads that collects it
    try:
        abandoned.set()
        del it
        deadline = time.monotonic() + 10
        while (gone() is not None or readers()) and time.monotonic() < deadline:
            if room.acquire(timeout=0.1):
                room.notify_all()
                room.release()
            time.sleep(0.01)
        assert gone() is None
        assert readers() == []
    finally:
        gc.enable()


def test_many_iterators_leave_nothing_behind():
    ds = M.range(30).map(lambda x: x + 1).to_iter_dataset(grain.ReadOptions(3, 5)).batch(4)
    for number in range(200):
        it = iter(ds)
        next(it)
        if number % 2:
            it.close()
        del it
    assert readers() == []


def test_a_read_that_takes_long_does_not_hold_up_the_end_of_a_program():
    code = textwrap.dedent(
        """
        import threading, grain
        begun = threading.Event()

        def read(x):
            if x >= 50:
                begun.set()
                threading.Event().wait()  # it never comes back
            return x

        it = iter(grain.MapDataset.range(100).map(read).to_iter_dataset())
        print([next(it) for _ in range(3)])
        begun.wait()
        """
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "[0, 1, 2]\n", "")


def test_a_jump_drops_what_was_read_for_another_place():
    with iter(M.range(10_000).to_iter_dataset(grain.ReadOptions(4, 100))) as it:
        for position in (0, 5000, 17, 17, 9_990, 3):
            it.set_state({"next_index": position})
            assert next(it) == position
            assert next(it) == position + 1
        it.set_state({"next_index": 10_000})
        assert list(it) == []


def test_an_iterator_may_change_hands_between_threads():
    it = iter(M.range(100).map(lambda x: x).to_iter_dataset(grain.ReadOptions(2, 10)))
    seen = []
    for _ in range(4):
        thread = threading.Thread(target=lambda: seen.extend(next(it) for _ in range(25)))
        thread.start()
        thread.join()
    assert seen == list(range(100))
    it.close()


def test_what_runs_ahead_shows_its_errors_at_their_place_and_goes_on():
    def fail(x):
        if x == 5:
            raise KeyError(x)
        return x

    ds = M.range(10).to_iter_dataset(grain.ReadOptions(0, 0)).map(fail)
    with iter(ThreadPrefetchIterDataset(ds, prefetch_buffer_size=4)) as it:
        assert [next(it) for _ in range(5)] == [0, 1, 2, 3, 4]
        assert it.get_state() == {"next_index": 5}
        with pytest.raises(KeyError):
            next(it)
        assert it.get_state() == {"next_index": 6}
        assert list(it) == [6, 7, 8, 9]


MEMORY = textwrap.dedent(
    """
    import sys, time
    import numpy as np
    import grain

    def status(name):
        with open("/proc/self/status") as lines:
            return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))

    if sys.argv[1] == "images":
        count = 0

        def image(x):
            global count
            count += 1
            return np.full((224, 224, 3), x % 255, np.uint8)

        ds = grain.MapDataset.range(64 * 500).map(image).batch(64)
        before = status("VmRSS")
        it = iter(ds)
        first, seen = next(it), -1
        while seen != count:
            seen = count
            time.sleep(1.0)
        print(status("VmHWM") - before)
        it.close()
    else:
        options = grain.ReadOptions(0, 0) if sys.argv[1] == "inline" else grain.ReadOptions()
        it = iter(grain.MapDataset.range(10**7).to_iter_dataset(options))
        for _ in range(10**6):
            next(it)
        before = status("VmRSS")
        for _ in it:
            pass
        print(status("VmRSS") - before)
    """
)


def megabytes(what):
    ran = subprocess.run([sys.executable, "-c", MEMORY, what], capture_output=True, text=True, timeout=200)
    assert ran.returncode == 0, ran.stderr
    return float(ran.stdout)


linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@linux
@pytest.mark.parametrize("how", ["inline", "threads"])
def test_ten_million_elements_do_not_grow_memory(how):
    assert megabytes(how) < 10


@linux
def test_batches_of_images_with_default_options_stay_within_the_budget():
    assert megabytes("images") < 600


def test_threads_leave_the_consumer_to_its_first_element(monkeypatch):
    monkeypatch.setattr(threads, "_HEAD_START_SECONDS", 30.0)
    begun, done = [], []

    def work(x):
        begun.append((x, list(done)))
        time.sleep(5e-3)
        done.append(x)
        return x

    with iter(M.range(100).map(work).to_iter_dataset()) as it:
        assert next(it) == 0
        assert list(it) == list(range(1, 100))
    assert all(0 in before for x, before in begun if x), "somebody began with another before the first was there"


def test_but_not_for_long():
    other = threading.Event()

    def work(x):
        assert x != 0 or other.wait(30), "nobody reads ahead"
        if x == 1:
            other.set()
        return x

    with iter(M.range(10).map(work).to_iter_dataset()) as it:
        assert list(it) == list(range(10))
