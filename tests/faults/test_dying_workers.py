"""Workers that die are replaced, and nothing is lost or repeated."""

import ctypes
import os
import pathlib
import random
import resource
import signal
import time
import warnings

import numpy as np
import pytest
from outside import children

import grain
from grain._src.errors import WorkerDied

M = grain.MapDataset
pytestmark = pytest.mark.usefixtures("nothing_is_left")


def workers(count=2, **options):
    return grain.MultiprocessingOptions(num_workers=count, **options)


def once(path, action):
    """Does `action` the first time that anybody calls it, in whatever process."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    action()


def plain(element):
    return element.tolist() if isinstance(element, np.ndarray) else element


@pytest.mark.parametrize("size", [3, 20_000], ids=["small batches", "batches in shared memory"])
def test_random_kills_lose_and_repeat_nothing(size):
    """Thousands of batches, a worker killed every now and then, also right after it has started."""
    count = 3000 if size == 3 else 600
    ds = M.range(count * 2).shuffle(seed=1).map(lambda x: np.full(size, x)).batch(2).to_iter_dataset()
    expected = [(M.range(count * 2).shuffle(seed=1)[2 * i], i) for i in range(count)]
    rng = random.Random(0)
    kills = 0
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with iter(ds.mp_prefetch(workers(2))) as it:
            next(it)
            at = 1
            for batch in it:
                assert batch.shape == (2, size)
                assert batch[0, 0] == expected[at][0]
                assert it.get_state() == {"next_index": at + 1}
                at += 1
                if rng.random() < 12 / count:
                    for process in children()[: rng.randint(1, 2)]:
                        process.kill()
                        kills += 1
    assert at == count
    assert kills > 5
    assert len(said) == 1, [str(warning.message) for warning in said]
    assert "killed by signal 9 (SIGKILL)" in str(said[0].message)
    assert "Nothing is lost or repeated" in str(said[0].message)


def test_elements_that_have_arrived_outlive_their_worker():
    ds = M.range(40).map(lambda x: np.full(50_000, x)).to_iter_dataset()
    with (
        pytest.warns(RuntimeWarning, match="is replaced"),
        iter(ds.mp_prefetch(workers(2, per_worker_buffer_size=4))) as it,
    ):
        held = [next(it)]
        stage = it._parent
        while sum(task.reply is not None for task in stage._tasks) < 4:
            stage._pool.step()
        for process in children():
            process.kill()
        stage._pool.step()
        held += list(it)
    assert [int(array[0]) for array in held] == list(range(40))
    assert all((array == array[0]).all() for array in held)


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (lambda: os._exit(3), "exited with status 3"),
        (lambda: ctypes.string_at(0), r"killed by signal 11 \(SIGSEGV\)"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), r"killed by signal 9 \(SIGKILL\)"),
        (lambda: os.kill(os.getpid(), signal.SIGTERM), r"killed by signal 15 \(SIGTERM\)"),
        (lambda: os.closerange(3, 256), "is replaced"),
    ],
    ids=["os._exit", "segfault", "SIGKILL", "SIGTERM", "closes everything"],
)
def test_a_worker_that_ends_itself_once_is_replaced(action, said, tmp_path, capfd):
    path = str(tmp_path / "once")

    def work(x):
        if x == 17:
            once(path, action)
        return x

    ds = M.range(100).map(work).to_iter_dataset().filter(lambda x: x % 3).batch(4)
    expected = [plain(batch) for batch in M.range(100).to_iter_dataset().filter(lambda x: x % 3).batch(4)]
    with pytest.warns(RuntimeWarning, match=said):
        with iter(ds.mp_prefetch(workers(2))) as it:
            assert [plain(batch) for batch in it] == expected


def test_a_worker_out_of_memory_is_replaced(tmp_path):
    path = str(tmp_path / "once")

    def limit(index, count):
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    def work(x):
        if x == 17:
            once(path, lambda: np.zeros(1 << 34, np.uint8))
        return x

    ds = M.range(60).map(work).to_iter_dataset()
    with pytest.warns(RuntimeWarning, match="is replaced"):
        with iter(ds.mp_prefetch(workers(2), worker_init_fn=limit)) as it:
            assert list(it) == list(range(60))


def test_a_memory_error_that_comes_again_is_the_users():
    def work(x):
        if x == 5:
            raise MemoryError("too much")
        return x

    with pytest.warns(RuntimeWarning, match="is replaced"):
        with iter(M.range(9).map(work).to_iter_dataset().mp_prefetch(workers(1))) as it:
            assert [next(it) for _ in range(5)] == list(range(5))
            with pytest.raises(MemoryError, match="too much"):
                next(it)


def test_elements_that_kill_twice_are_named():
    def work(x):
        if x == 7:
            os._exit(1)
        return x

    ds = M.source(list(range(30))).map(work).to_iter_dataset()
    with pytest.warns(RuntimeWarning, match="is replaced"):
        with iter(ds.mp_prefetch(workers(2))) as it:
            seen = []
            with pytest.raises(
                WorkerDied, match="exited with status 1 twice while it computed the same elements"
            ) as caught:
                for element in it:
                    seen.append(element)
            notes = "\n".join(caught.value.__notes__)
            assert seen == list(range(7))
            assert notes.endswith("made of positions 7 to 7")
            assert "record 7 of list" in notes
            # The iterator stays where it was, and can be told to go on elsewhere.
            assert it.get_state() == {"next_index": 7}
            it.set_state({"next_index": 8})
            assert list(it) == list(range(8, 30))


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("kind", ["elements", "batches", "filtered"])
def test_an_element_that_kills_takes_no_other_with_it(kind, count):
    """However large blocks have become, all before it is delivered first."""

    def work(x):
        if x == 5000:
            os._exit(1)
        return x

    ds = M.range(9000).map(work)
    ds = ds.batch(7).to_iter_dataset() if kind == "batches" else ds.to_iter_dataset()
    if kind == "filtered":
        ds = ds.filter(lambda x: x % 3)
    seen = 0
    with pytest.warns(RuntimeWarning, match="is replaced"):
        with iter(ds.mp_prefetch(workers(count))) as it:
            with pytest.raises(WorkerDied):
                for _ in it:
                    seen += 1
    assert seen == {"elements": 5000, "batches": 5000 // 7, "filtered": 3333}[kind]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("batch_size", [None, 5, 40])
def test_an_element_that_kills_while_threads_read_others_takes_none_of_them_with_it(batch_size, count):
    """They read what comes after it in its block, and the beginning of the next block too."""

    def work(x):
        time.sleep(1e-3)
        if x == 1501:
            os._exit(1)
        return x

    ds = M.range(2500).map(work)
    ds = ds.batch(batch_size) if batch_size else ds
    seen = 0
    with pytest.warns(RuntimeWarning, match="is replaced"):
        with iter(ds.to_iter_dataset().mp_prefetch(workers(count))) as it:
            with pytest.raises(WorkerDied):
                for _ in it:
                    seen += 1
            assert it.get_state() == {"next_index": seen}
    assert seen == 1501 // (batch_size or 1)


def test_a_block_that_killed_is_computed_again_where_nothing_else_has_run(tmp_path):
    """In another worker a thread may be reading ahead the very element that kills, and the block would be blamed twice."""
    log = tmp_path / "log"

    def work(x):
        time.sleep(1e-3)
        with log.open("a") as file:
            file.write(f"{os.getpid()} {x}\n")
        if x == 700:
            os._exit(1)
        return x

    with pytest.warns(RuntimeWarning, match="is replaced"):
        with iter(M.range(2000).map(work).to_iter_dataset(grain.ReadOptions(0, 0)).mp_prefetch(workers(2))) as it:
            with pytest.raises(WorkerDied):
                list(it)
            assert it.get_state() == {"next_index": 700}
    lines = [tuple(map(int, line.split())) for line in log.read_text().splitlines()]
    first, second = [pid for pid, x in lines if x == 700]
    assert first != second
    ran = [x for pid, x in lines if pid == second]
    assert ran == list(range(ran[0], 701))
    assert [x for pid, x in lines if pid == first][-len(ran) :] == ran


def test_a_worker_that_gets_on_is_not_silent():
    def work(x):
        time.sleep(0.001 if x < 200 else 0.15)
        return x

    ds = M.range(230).map(work).to_iter_dataset(grain.ReadOptions(0, 0))
    with iter(ds.mp_prefetch(workers(1, worker_timeout=1.0))) as it:
        assert list(it) == list(range(230))


def test_what_is_done_of_a_slow_block_need_not_wait_for_the_rest(tmp_path):
    gate = tmp_path / "gate"

    def work(x):
        while x == 300 and not gate.exists():
            time.sleep(0.01)
        time.sleep(0.02 if x > 200 else 0)
        return x

    ds = M.range(400).map(work).to_iter_dataset(grain.ReadOptions(0, 0))
    with iter(ds.mp_prefetch(workers(1))) as it:
        assert [next(it) for _ in range(270)] == list(range(270))
        gate.touch()
        assert list(it) == list(range(270, 400))


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_exceptions_that_end_programs_come_from_workers_too(error, count):
    def work(x):
        if x == 5:
            raise error
        return x

    ds = M.range(40).map(work).to_iter_dataset(grain.ReadOptions(0, 0))
    with iter(ds.mp_prefetch(workers(count))) as it:
        assert [next(it) for _ in range(5)] == list(range(5))
        with pytest.raises(error):
            next(it)
        assert it.get_state() == {"next_index": 5}


def test_an_element_that_kills_by_signal_is_named_too():
    def work(x):
        if x == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    with pytest.warns(RuntimeWarning, match="is replaced"):
        with iter(M.range(9).map(work).to_iter_dataset().mp_prefetch(workers(1))) as it:
            with pytest.raises(WorkerDied, match=r"killed by signal 9 \(SIGKILL\) the 4th time"):
                list(it)


def test_a_worker_that_hangs_past_its_deadline_is_replaced_and_its_stack_is_shown(tmp_path):
    path = str(tmp_path / "once")

    def hang_here():
        signal.pause()

    def work(x):
        if x == 11:
            once(path, hang_here)
        return x

    ds = M.range(40).map(work).to_iter_dataset()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with iter(ds.mp_prefetch(workers(2, worker_timeout=1.0))) as it:
            assert list(it) == list(range(40))
    messages = [str(warning.message) for warning in said]
    assert "has not answered for" in messages[0]
    assert "hang_here" in messages[0]
    assert "counts as dead" in messages[0]


def test_a_stopped_worker_counts_as_dead_too():
    ds = M.range(3000).map(lambda x: np.full(2000, x)).to_iter_dataset()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with iter(ds.mp_prefetch(workers(2, worker_timeout=1.0))) as it:
            first = [int(next(it)[0]) for _ in range(10)]
            os.kill(children()[0].pid, signal.SIGSTOP)
            assert first + [int(array[0]) for array in it] == list(range(3000))
    assert len(said) in (1, 2)


def test_workers_that_cannot_start_are_an_error_not_a_loop():
    ds = M.range(5).map(lambda x: x).to_iter_dataset()
    with pytest.warns(RuntimeWarning), pytest.raises(RuntimeError, match="worker processes do not start"):
        with iter(ds.mp_prefetch(workers(2), worker_init_fn=lambda index, count: os._exit(5))) as it:
            next(it)


def test_an_init_function_is_called_in_each_worker_also_in_those_that_replace(tmp_path):
    def note(index, count):
        pathlib.Path(tmp_path / f"{index}-{count}-{os.getpid()}").touch()

    with pytest.warns(RuntimeWarning, match="is replaced"):
        with iter(M.range(10**9).to_iter_dataset().mp_prefetch(workers(2), worker_init_fn=note)) as it:
            assert next(it) == 0
            children()[0].kill()
            number = 0
            while len(list(tmp_path.iterdir())) < 3:
                number += 1
                assert next(it) == number
    names = sorted(path.name.rsplit("-", 1)[0] for path in tmp_path.iterdir())
    assert len(names) == 3
    assert set(names) == {"0-2", "1-2"}


def test_an_init_function_that_raises_is_told():
    def fail(index, count):
        raise KeyError("no such file")

    with pytest.raises(KeyError, match="no such file"):
        with iter(M.range(5).to_iter_dataset().mp_prefetch(workers(1), worker_init_fn=fail)) as it:
            next(it)


def test_a_stream_of_the_users_own_goes_on_from_its_last_state():
    with pytest.warns(RuntimeWarning, match="is replaced"):
        with iter(Counting(2000).map(lambda x: x + 1).mp_prefetch(workers(1))) as it:
            seen = [next(it) for _ in range(50)]
            children()[0].kill()
            seen += list(it)
    assert seen == list(range(1, 2001))


class Counting(grain.IterDataset):
    def __init__(self, count):
        super().__init__()
        self.count = count

    def __iter__(self):
        return CountingIterator(self.count)


class CountingIterator(grain.DatasetIterator):
    def __init__(self, count):
        super().__init__()
        self.count, self.at = count, 0

    def __next__(self):
        if self.at >= self.count:
            raise StopIteration
        self.at += 1
        return self.at - 1

    def get_state(self):
        return {"at": self.at}

    def set_state(self, state):
        self.at = state["at"]
