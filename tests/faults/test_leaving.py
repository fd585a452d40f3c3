"""However a program ends, or lets go of an iterator, no process, descriptor or shared memory stays, and nothing is printed."""

import gc
import os
import signal
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import psutil
import pytest
from outside import children, descriptors, shared_memory, wait_until

import grain

M = grain.MapDataset

TRAIN = textwrap.dedent(
    """
    import os, sys, time
    import numpy as np
    import psutil
    import grain

    def work(x):
        if {slow}:
            time.sleep(0.05)
        return np.full(30_000, x)

    ds = grain.MapDataset.range(10**6).map(work).to_iter_dataset()
    it = iter(ds.mp_prefetch(grain.MultiprocessingOptions(num_workers=2)))
    next(it)
    print(*(child.pid for child in psutil.Process().children()), flush=True)
    {then}
    """
)


def program(then, slow=False):
    return TRAIN.format(then=then, slow=slow)


def alive(pids):
    return [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]


def started(process):
    """Waits until the program has its workers and says so; returns their process ids."""
    line = process.stdout.readline()
    assert line, process.stderr.read()
    return [int(pid) for pid in line.split()]


def ends_well(process, workers, seconds=2.0):
    """The program is over: its workers must be gone within two seconds."""
    deadline = time.monotonic() + seconds
    while alive(workers) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert alive(workers) == []


@pytest.mark.parametrize("slow", [False, True], ids=["quick", "slow"])
@pytest.mark.parametrize(
    ("then", "code", "error"),
    [
        ("", 0, ""),
        ("sys.exit(3)", 3, ""),
        ("it.close()", 0, ""),
        ("del it", 0, ""),
        ("raise KeyError('in the training loop')", 1, "KeyError"),
        ("os._exit(4)", 4, ""),
    ],
    ids=["end", "exit", "close", "collected", "error", "hard exit"],
)
def test_a_program_that_ends_leaves_nothing(then, code, error, slow, script):
    before = shared_memory()
    process = script.start(program(then, slow))
    workers = started(process)
    assert len(workers) >= 1
    _, err = process.communicate(timeout=30)
    assert process.returncode == code
    ends_well(process, workers)
    assert shared_memory() == before
    lines = err.splitlines()
    if error:
        assert lines[0] == "Traceback (most recent call last):"
        assert lines[-1].startswith(error)
        assert sum(line.startswith("Traceback") for line in lines) == 1, err
    else:
        assert lines == []


@pytest.mark.parametrize("slow", [False, True], ids=["quick", "slow"])
def test_ctrl_c_prints_one_traceback_and_leaves_nothing(slow, script):
    before = shared_memory()
    process = script.start(program("for x in it: pass", slow), start_new_session=True)
    workers = started(process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to everybody
    _, err = process.communicate(timeout=30)
    ends_well(process, workers)
    assert shared_memory() == before
    assert err.splitlines()[-1] == "KeyboardInterrupt"
    assert err.count("Traceback (most recent call last)") == 1, err


def test_after_ctrl_c_the_iterator_goes_on_without_loss(script):
    code = program(
        """
    import signal, threading
    seen = [0]
    for k in range(12):
        threading.Timer(0.15, lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)).start()
        try:
            for x in it:
                seen.append(int(x[0]))
        except KeyboardInterrupt:
            # The element that was on its way into the loop may be the one that is lost: the state knows.
            assert it.get_state()["next_index"] - len(seen) in (0, 1), (it.get_state(), len(seen))
            del seen[it.get_state()["next_index"]:]
            it.set_state({"next_index": len(seen)})
    assert seen == list(range(len(seen))) and len(seen) > 12, len(seen)
    it.close()
    print("fine")
    """.strip().replace("\n    ", "\n")
    )
    returncode, out, err = script.run(code)
    assert (returncode, out.splitlines()[-1:]) == (0, ["fine"]), err


@pytest.mark.parametrize("slow", [False, True], ids=["quick", "slow"])
def test_a_killed_parent_leaves_no_worker_after_two_seconds(slow, script):
    before = shared_memory()
    process = script.start(program("for x in it: pass", slow))
    workers = started(process)
    process.kill()
    process.wait()
    ends_well(process, workers)
    assert shared_memory() == before
    process.communicate()


def test_a_worker_in_the_middle_of_something_long_goes_with_its_parent(script):
    process = script.start(program("time.sleep(100)").replace("if False:", "if x > 5: time.sleep(100)\n    if False:"))
    workers = started(process)
    process.kill()
    process.wait()
    ends_well(process, workers)
    process.communicate()


def test_close_does_not_wait_for_long_work():
    it = iter(M.range(8).map(lambda x: time.sleep(0 if x < 2 else 100) or x).to_iter_dataset().mp_prefetch(two()))
    assert next(it) == 0
    it.close()
    assert children() == []


@pytest.mark.usefixtures("nothing_is_left")
def test_who_waits_while_another_thread_closes_is_told():
    it = iter(M.range(8).map(lambda x: time.sleep(0 if x < 1 else 100) or x).to_iter_dataset().mp_prefetch(two()))
    assert next(it) == 0
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, it)
        time.sleep(0.3)
        it.close()
        with pytest.raises(ValueError, match="closed iterator"):
            waiting.result(timeout=10)


def two(**options):
    return grain.MultiprocessingOptions(num_workers=2, **options)


def test_two_hundred_iterators_with_workers_leave_nothing_behind():
    ds = M.range(1000).map(lambda x: np.full(20_000, x)).batch(2).to_iter_dataset()
    warm_up = iter(ds.mp_prefetch(grain.MultiprocessingOptions(1)))
    next(warm_up)
    warm_up.close()
    gc.collect()  # what tests before this one left
    before = descriptors(), shared_memory()
    kept = []
    for number in range(200):
        it = iter(ds.mp_prefetch(grain.MultiprocessingOptions(1)))
        it.start_prefetch() if number % 3 else kept.append(next(it))
        if number % 2:
            it.close()
        del it
    kept.clear()
    gc.collect()
    assert children() == []
    assert (descriptors(), shared_memory()) == before


def test_two_hundred_iterators_that_never_start_leave_nothing_behind():
    ds = M.range(1000).map(lambda x: x).to_iter_dataset().batch(4).mp_prefetch(two())
    next(it := iter(ds))
    it.close()
    before = descriptors(), shared_memory()
    for _ in range(200):
        iter(ds).close()
        iter(ds)
    assert children() == []
    assert (descriptors(), shared_memory()) == before


@pytest.mark.usefixtures("nothing_is_left")
def test_arrays_outlive_their_iterator():
    it = iter(M.range(10).map(lambda x: np.full(50_000, x)).to_iter_dataset().mp_prefetch(two()))
    held = list(it)
    it.close()
    del it
    gc.collect()
    assert [int(array.sum()) // 50_000 for array in held] == list(range(10))
    held[0][:] = -1


@pytest.mark.usefixtures("nothing_is_left")
def test_holding_on_to_everything_never_blocks():
    with iter(M.range(300).map(lambda x: np.full(100_000, x)).to_iter_dataset().mp_prefetch(two())) as it:
        held = list(it)
    assert [int(array[-1]) for array in held] == list(range(300))


@pytest.mark.usefixtures("nothing_is_left")
def test_an_exception_in_the_training_loop_within_a_context():
    with pytest.raises(KeyError):
        with iter(M.range(1000).to_iter_dataset().mp_prefetch(two())) as it:
            next(it)
            raise KeyError("training")


def test_a_cycle_of_references_is_collected_with_its_workers():
    class Trainer:
        pass

    trainer = Trainer()
    trainer.me = trainer
    trainer.it = iter(M.range(1000).to_iter_dataset().mp_prefetch(two()))
    next(trainer.it)
    assert children()
    del trainer
    gc.collect()
    wait_until(lambda: children() == [])


def test_a_forked_process_does_not_disturb_the_workers_of_its_parent(script):
    code = program(
        """
    child = os.fork()
    if not child:
        try:
            for x in it: pass
        except Exception as error:
            print(type(error).__name__, error, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    print([int(next(it)[0]) for _ in range(5)])
    it.close()
    """.strip().replace("\n    ", "\n")
    )
    returncode, out, err = script.run("import os\n" + code)
    assert returncode == 0, err
    assert "WorkerError these workers belong to process" in out
    assert out.splitlines()[-1] == "[1, 2, 3, 4, 5]"


def test_no_room_for_a_large_source_is_named(script):
    code = """
    import resource, numpy as np, grain
    ds = grain.MapDataset.source(np.ones((1000, 1000))).to_iter_dataset().mp_prefetch(grain.MultiprocessingOptions(1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    next(iter(ds))
    """
    returncode, _, err = script.run(textwrap.dedent(code))
    assert returncode == 1
    assert "File too large. Large arrays travel in shared memory: is there room?" in err
