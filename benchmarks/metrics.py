"""How a number is taken from a running pipeline: rate, processor time, first item, close, state, memory."""

import contextlib
import gc
import itertools
import json
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.workload import Make, Metric, Take

_END = object()
_TRIES = 20  # times as long as it should a measurement may take
_CHUNK_SECONDS = 0.02
# The threads of NumPy's linear algebra spin for some 60 ms after its import, on a core that a worker would start on.
_SETTLE_SECONDS = 0.15


@contextlib.contextmanager
def running(make: Make) -> Iterator[Iterator[Any]]:
    """A started iterator that is closed, or at least dropped, at the end."""
    iterator = iter(make())
    try:
        yield iterator
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            close()


def _drain(iterator: Iterator[Any], seconds: float, clock: Callable[[], float]) -> tuple[int, float, bool]:
    """Items taken, their cost by `clock`, and whether the iterator ended; the cut-off last chunk is not counted."""
    items, cost, chunk = 0, 0.0, 1
    deadline = time.perf_counter() + seconds
    while time.perf_counter() < deadline:
        wall, start = time.perf_counter(), clock()
        for _ in itertools.islice(iterator, chunk):
            pass
        if next(iterator, _END) is _END:
            return items, cost, True
        cost += clock() - start
        items += chunk + 1
        if time.perf_counter() - wall < _CHUNK_SECONDS / 2:
            chunk *= 2
    return items, cost, False


def cost_per_item(
    make: Make, seconds: float, warm_up: float, clock: Callable[[], float] = time.perf_counter
) -> Iterator[float]:
    """Seconds of `clock` for one item of a pipeline that goes on running: of other items each time it is asked.

    Starts again where an epoch ends. The first item and what follows for `warm_up` seconds do not count, if there is more.
    """
    items, cost = 0, 0.0
    deadline = time.perf_counter() + _TRIES * seconds
    while True:
        with running(make) as iterator:
            next(iterator, None)
            ended = warm_up > 0 and _drain(iterator, warm_up, clock)[2]
            if ended:
                warm_up = 0.0
            while not ended:
                taken, spent, ended = _drain(iterator, max(seconds - cost, seconds / _TRIES), clock)
                items, cost = items + taken, cost + spent
                late = time.perf_counter() > deadline
                if items == 0 and late:
                    raise RuntimeError("the pipeline ended before anything could be measured")
                if items and (not ended or cost >= seconds or late):
                    yield cost / items
                    items, cost, deadline = 0, 0.0, time.perf_counter() + _TRIES * seconds


def rate(make: Make, seconds: float, warm_up: float) -> Iterator[float]:
    return (1 / cost for cost in cost_per_item(make, seconds, warm_up))


def rate_of_epoch(make: Make, seconds: float) -> float:
    """Items a second of whole epochs, from the start of the iterator to its end."""
    items, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        with running(make) as iterator:
            for _ in iterator:
                items += 1
    return items / (time.perf_counter() - start)


def rate_of_copies(make: Make, seconds: float, warm_up: float, copies: int) -> Iterator[float]:
    """The summed rate of `copies` processes that run the same loop at the same time: what the cores give.

    They are started anew, as workers are: how fast a process runs a function is a matter of luck, which forks would share.
    """
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in range(copies)]
    processes = [context.Process(target=_copy, args=(make, seconds, warm_up, theirs)) for _, theirs in pipes]
    try:
        for process in processes:
            process.start()
        for ours, _ in pipes:  # each is ready at another time
            ours.recv()
        while True:
            for ours, _ in pipes:
                ours.send(None)
            yield sum(ours.recv() for ours, _ in pipes)
    finally:
        for process in processes:
            process.kill()
            process.join()


def _copy(make: Make, seconds: float, warm_up: float, orders: Any) -> None:
    for value in rate(make, seconds, warm_up):
        orders.send(value)
        orders.recv()


def main_thread_cpu(make: Make, seconds: float, warm_up: float) -> Iterator[float]:
    """Microseconds of this thread's processor time for one `next()`."""
    return (1e6 * cost for cost in cost_per_item(make, seconds, warm_up, time.thread_time))


def process_cpu(make: Make, seconds: float, warm_up: float) -> Iterator[float]:
    """Microseconds of processor time for one `next()` in all threads of this process, but not in its workers."""
    return (1e6 * cost for cost in cost_per_item(make, seconds, warm_up, time.process_time))


def anew(once: Callable[[Make, float], float]) -> Take:
    """A number for which each time a pipeline is made."""

    def take(make: Make, seconds: float, _warm_up: float) -> Iterator[float]:
        while True:
            yield once(make, seconds)

    return take


def first_item(make: Make, _seconds: float) -> float:
    """Seconds from `iter()` to the first item; the source was made before, and the process has come to rest."""
    dataset = make()
    gc.collect()  # else it is chance in whose first batch Python looks through the million records of the source
    time.sleep(_SETTLE_SECONDS)
    start = time.perf_counter()
    with running(lambda: dataset) as iterator:
        next(iterator)
        return time.perf_counter() - start


def close(make: Make, _seconds: float) -> float:
    """Seconds until a running iterator is closed, or collected where it has no `close`."""
    iterator = iter(make())
    for _ in range(3):
        next(iterator)
    start = time.perf_counter()
    if hasattr(iterator, "close"):
        iterator.close()
    del iterator
    return time.perf_counter() - start


def _per_call(call: Callable[[], object], seconds: float) -> float:
    """Microseconds of one call, the best of the chunks that fit."""
    best, deadline = float("inf"), time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        for _ in range(20):
            call()
        best = min(best, (time.perf_counter() - start) / 20)
        if time.perf_counter() > deadline:
            return 1e6 * best


def get_state(make: Make, seconds: float) -> float:
    with running(make) as iterator:
        for _ in range(3):
            next(iterator)
        return _per_call(iterator.get_state, seconds)  # type: ignore[attr-defined]


def restore(make: Make, seconds: float) -> float:
    """Microseconds of `set_state` and the `next` after it."""
    with running(make) as iterator:
        for _ in range(3):
            next(iterator)
        state = iterator.get_state()  # type: ignore[attr-defined]
        next(iterator)

        def back_and_on() -> None:
            iterator.set_state(state)  # type: ignore[attr-defined]
            next(iterator)

        back_and_on()
        spent, times = 0.0, 0
        while spent < seconds:
            start = time.perf_counter()
            back_and_on()
            spent, times = spent + time.perf_counter() - start, times + 1
        return 1e6 * spent / times


def state_size(make: Make, _seconds: float) -> float:
    with running(make) as iterator:
        for _ in range(3):
            next(iterator)
        state = iterator.get_state()  # type: ignore[attr-defined]
        return len(state if isinstance(state, bytes) else json.dumps(state))


def _family_memory() -> float:
    """MB held by this process and its descendants; what they share counts once."""
    children: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{entry.name}/stat") as stat:
                children.setdefault(int(stat.read().rpartition(")")[2].split()[1]), []).append(int(entry.name))
    family, total = [os.getpid()], 0.0
    for pid in family:
        family += children.get(pid, [])
        with contextlib.suppress(OSError), open(f"/proc/{pid}/smaps_rollup") as rollup:
            total += next(int(line.split()[1]) for line in rollup if line.startswith("Pss:")) / 1024
    return total


def memory_while(work: Callable[[], object]) -> float:
    """MB that this process and its workers grow by, at the most, while `work` runs."""
    before, peak, done = _family_memory(), 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.05):
            peak = max(peak, _family_memory() - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        work()
    finally:
        done.set()
        watcher.join()
    return max(peak, _family_memory() - before, 1.0)


def memory_read_ahead(make: Make, seconds: float) -> float:
    """MB held when the training loop is slower than the pipeline, after it had 25 times `seconds` to read ahead."""

    def work() -> None:
        with running(make) as iterator:
            deadline = time.perf_counter() + 25 * seconds
            while time.perf_counter() < deadline:
                next(iterator)
                time.sleep(0.1)

    return memory_while(work)


def memory_of_epoch(make: Make, _seconds: float) -> float:
    """MB that grow between the first hundredth of an epoch and its end, or what two minutes reach of it."""
    with running(make) as iterator:
        for _ in itertools.islice(iterator, 100_000):
            pass
        return memory_while(lambda: _drain(iterator, 120, time.perf_counter))


RECORDS = Metric("records/s", rate)
EPOCH = Metric("records/s", anew(rate_of_epoch), rounds=1)
ROWS = Metric("rows/s", rate)
MEGABYTES = Metric("MB/s", rate)
MAIN_THREAD_CPU = Metric("µs of main thread", main_thread_cpu, more=False)
PROCESS_CPU = Metric("µs of the training process", process_cpu, more=False)
FIRST_ITEM = Metric("s to first batch", anew(first_item), more=False, fresh=True, rounds=1)
CLOSE = Metric("s to close", anew(close), more=False, rounds=1)
GET_STATE = Metric("µs", anew(get_state), more=False, rounds=1)
RESTORE = Metric("µs", anew(restore), more=False, rounds=1)
STATE_SIZE = Metric("bytes", anew(state_size), more=False, steady=True, rounds=1)
READ_AHEAD = Metric("MB", anew(memory_read_ahead), more=False, fresh=True, steady=True, rounds=1)
EPOCH_MEMORY = Metric("MB", anew(memory_of_epoch), more=False, fresh=True, steady=True, rounds=1)
