"""`print(ds)` shows who computes each step, and tells the truth about it."""

import os
import threading

import pytest

import grain
from grain.experimental import ThreadPrefetchIterDataset

M = grain.MapDataset
TWO = grain.MultiprocessingOptions(num_workers=2)
INLINE = grain.ReadOptions(num_threads=0)


def places(ds) -> dict[str, str]:
    """Returns who computes each step, by the name of the step."""
    rows = [line.lstrip("┌│ ") for line in str(ds).splitlines()]
    return {row.partition("(")[0]: row.rpartition("    ")[2].strip() for row in rows if "    " in row}


def where(x):
    return os.getpid(), threading.current_thread() is threading.main_thread()


def test_a_dataset_with_random_access_is_read_by_threads_when_iterated():
    assert set(places(M.range(4).shuffle(seed=1).batch(2)).values()) == {"up to 16 threads, ahead"}


def test_without_threads_everything_runs_in_this_thread():
    ds = M.range(4).map(where).to_iter_dataset(INLINE)
    assert places(ds)["map"] == "this thread"
    assert list(ds)[0] == (os.getpid(), True)


def test_workers_compute_up_to_the_first_ordered_step():
    ds = M.range(9).map(where).to_iter_dataset().filter(bool).mp_prefetch(TWO)
    assert places(ds) == {
        "range": "2 worker processes",
        "map": "2 worker processes",
        "to_iter_dataset": "2 worker processes",
        "filter": "2 worker processes",
    }
    assert os.getpid() not in {process for process, _ in ds}
    batched = M.range(9).to_iter_dataset().filter(bool).batch(2).map(abs).mp_prefetch(TWO)
    assert places(batched)["batch"] == "this thread, in order"
    assert places(batched)["map"] == "2 worker processes, where it pays"


def test_a_batch_without_a_filter_before_it_is_made_by_the_workers():
    assert places(M.range(9).to_iter_dataset().batch(2).mp_prefetch(TWO))["batch"] == "2 worker processes"


def test_no_workers_means_none():
    ds = M.range(9).to_iter_dataset(INLINE).mp_prefetch(grain.MultiprocessingOptions(num_workers=0))
    assert set(places(ds).values()) == {"this thread"}


def test_a_thread_that_works_ahead_is_named():
    ds = ThreadPrefetchIterDataset(M.range(4).to_iter_dataset(INLINE).map(where), prefetch_buffer_size=2)
    assert places(ds)["map"] == "a thread, ahead"
    assert list(ds)[0] == (os.getpid(), False)


def test_a_stream_of_the_users_own_runs_in_one_worker():
    class Mine(grain.IterDataset):
        pass

    assert str(Mine().mp_prefetch(TWO)).splitlines()[0].split("    ") == ["Mine", "1 worker process"]


def test_branches_are_drawn_and_placed():
    ds = grain.IterDataset.mix([M.range(2).to_iter_dataset(), M.range(3).map(abs).to_iter_dataset(INLINE)])
    first, *_, inner, _, mix = str(ds).splitlines()
    assert first.startswith("┌ range(0, 2, 1)")
    assert inner.startswith("│ map(function=abs)")
    assert inner.endswith("this thread")
    assert mix.endswith("this thread, in order")


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_prints_like_a_dataset(workers):
    loader = grain.load([1, 2, 3], batch_size=2, worker_count=workers)
    assert places(loader)["batch"] == ("2 worker processes" if workers else "this thread, in order")
    assert repr(loader).splitlines()[-1 if not workers else -2] == "batch(batch_size=2)"
