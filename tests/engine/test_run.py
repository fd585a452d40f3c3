"""Starting a pipeline: who may watch it, when workers start, and who computes without an interpreter lock."""

import dataclasses
import gc
import threading
import time

import psutil
import pytest

import grain
from grain._src.engine import run
from grain._src.nodes import context


def test_an_observer_is_shown_what_runs_each_stage_and_may_stand_in_for_it():
    seen = []

    class Watching(grain.DatasetIterator):
        def __init__(self, parent):
            super().__init__(parent)
            self.count = 0

        def __next__(self):
            self.count += 1
            return next(self._parent)

        def get_state(self):
            return self._parent.get_state()

        def set_state(self, state):
            self._parent.set_state(state)

    def observe(node, iterator):
        seen.append((node.name, Watching(iterator)))
        return seen[-1][1]

    ds = grain.MapDataset.range(10).to_iter_dataset(grain.ReadOptions(0, 0)).filter(lambda x: x % 2).batch(2)
    with context.using(dataclasses.replace(context.current(), observer=observe)):
        watched = iter(ds)
    assert [batch.tolist() for batch in watched] == [batch.tolist() for batch in ds]
    assert [(name, watcher.count > 0) for name, watcher in seen] == [
        ("to_iter_dataset", True),
        ("filter", True),
        ("batch", True),
    ]


@pytest.mark.parametrize("options", [None, grain.ReadOptions(0, 0)])
def test_without_an_interpreter_lock_threads_serve_instead_of_processes(monkeypatch, options):
    monkeypatch.setattr(run, "has_lock", lambda: False)
    ds = grain.MapDataset.range(100).map(lambda x: (x, threading.current_thread().name)).to_iter_dataset(options)
    before = set(psutil.Process().children())
    assert "a thread, ahead" in str(ds.filter(bool).mp_prefetch(grain.MultiprocessingOptions(2)))
    with iter(ds.mp_prefetch(grain.MultiprocessingOptions(2))) as it:
        elements = list(it)
        assert set(psutil.Process().children()) == before
    assert [x for x, _ in elements] == list(range(100))
    assert threading.main_thread().name not in {name for _, name in elements}


def test_without_an_interpreter_lock_as_many_threads_read_as_there_would_be_workers(monkeypatch):
    monkeypatch.setattr(run, "has_lock", lambda: False)

    def reader_of(_):
        time.sleep(2e-3)
        return threading.get_ident()

    ds = grain.MapDataset.range(300).map(reader_of).to_iter_dataset(grain.ReadOptions(0, 0))
    with iter(ds.mp_prefetch(grain.MultiprocessingOptions(3))) as it:
        readers = set(it)
    assert threading.get_ident() not in readers
    assert 1 < len(readers) <= 4  # the one that runs ahead may read, too


def test_iter_starts_one_worker_which_loads_while_nothing_is_asked_for(worker_pids):
    ds = grain.MapDataset.range(10).to_iter_dataset().mp_prefetch(grain.MultiprocessingOptions(num_workers=2))
    before = worker_pids()
    with iter(ds) as it:
        started = set(worker_pids()) - set(before)
        assert len(started) == 1, "the others follow when it has answered"
        it.set_state({"next_index": 4})
        assert next(it) == 4
        assert started <= set(worker_pids()), "it is the one that computes"
    assert worker_pids() == before


def test_an_iterator_that_nobody_asks_leaves_nothing_behind(worker_pids):
    before = worker_pids()
    it = iter(grain.MapDataset.range(10).to_iter_dataset().mp_prefetch(grain.MultiprocessingOptions(num_workers=2)))
    assert len(worker_pids()) == len(before) + 1
    del it
    assert worker_pids() == before


@pytest.mark.parametrize("collects", [True, False])
def test_starting_workers_leaves_the_garbage_collector_as_it_was(collects):
    ds = grain.MapDataset.range(10).to_iter_dataset().mp_prefetch(grain.MultiprocessingOptions(num_workers=1))
    (gc.enable if collects else gc.disable)()
    try:
        with iter(ds) as it:
            assert gc.isenabled() is collects
            assert next(it) == 0 and gc.isenabled() is collects
    finally:
        gc.enable()
