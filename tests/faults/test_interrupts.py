"""Ctrl-C anywhere in the library: whoever goes on misses nothing, gets nothing twice, and the state stays right."""

import signal
import sys
import time
from itertools import islice

import numpy as np
import pytest

import grain
from grain import experimental as ex
from grain._src.conformance.equality import same
from grain._src.nodes import flat_map

INLINE = grain.ReadOptions(0, 0)
M = grain.MapDataset
ROUNDS = 24


def numbers(count=2000, options=INLINE):
    return M.range(count).map(lambda x: x).to_iter_dataset(options)


def documents(count=400):
    return M.range(count).map(lambda i: {"x": np.arange(1 + i * 7 % 9)}).to_iter_dataset(INLINE)


class Twice(grain.transforms.FlatMap):
    max_fan_out = 2

    def flat_map(self, element):
        return [element, -element]


PACKED = {"length_struct": {"x": 10}, "num_packing_bins": 3}
PIPELINES = {
    "random access": numbers(),
    "batches": M.range(2000).batch(4).to_iter_dataset(INLINE),
    "filter": M.range(2000).filter(lambda x: x % 3).to_iter_dataset(INLINE),
    "batches of a stream": numbers().batch(4),
    "batches of a filtered stream": numbers().filter(lambda x: x % 3).batch(4),
    "large rows": M.range(200).map(lambda i: np.full(40_000, i, "u1")).to_iter_dataset(INLINE).batch(3),
    "window": ex.WindowShuffleIterDataset(numbers(), window_size=400, seed=1),
    "batches of windows": ex.WindowShuffleIterDataset(numbers(), window_size=400, seed=1).batch(4),
    "first fit": ex.FirstFitPackIterDataset(documents(), **PACKED),
    "best fit": ex.BestFitPackIterDataset(documents(), **PACKED),
    "batches of packed rows": ex.FirstFitPackIterDataset(documents(), **PACKED).batch(2),
    "concat, then split": ex.ConcatThenSplitIterDataset(documents(), length_struct={"x": 10}),
    "mix": grain.IterDataset.mix([numbers(900), numbers(1200)], weights=[1, 2]),
    "batches of a mix": grain.IterDataset.mix([numbers(900), numbers(1200)], weights=[1, 2]).batch(4),
    "interleave": ex.InterleaveIterDataset([numbers(500), numbers(700), numbers(300)], cycle_length=2),
    "zip": ex.ZipIterDataset((numbers(900), numbers(900))),
    "limit": ex.LimitIterDataset(numbers(), 900),
    "repeat": ex.RepeatIterDataset(numbers(500), 3),
    "cache": ex.RepeatIterDataset(ex.CacheIterDataset(numbers(500)), 3),
    "flat map": ex.FlatMapIterDataset(numbers(), Twice()),
    "rebatch": ex.RebatchIterDataset(M.range(2000).batch(5).to_iter_dataset(INLINE), batch_size=4),
    "read ahead by a thread": ex.ThreadPrefetchIterDataset(numbers(), prefetch_buffer_size=2),
    "loader": grain.load(range(2000), batch_size=20, num_epochs=1, worker_count=0),
    "threads": numbers(5000, grain.ReadOptions(2, 8)),
}


@pytest.fixture
def alarm(monkeypatch):
    """Interrupts the main thread some seconds from now, as Ctrl-C does."""

    def interrupt(*_):
        raise KeyboardInterrupt

    def unraisable(what, otherwise=sys.unraisablehook):
        if what.exc_type is not KeyboardInterrupt:  # within a finalizer Python cannot raise it, and goes on
            otherwise(what)

    monkeypatch.setattr(sys, "unraisablehook", unraisable)
    before = signal.signal(signal.SIGALRM, interrupt)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", PIPELINES)
def test_going_on_after_an_interrupt_loses_and_repeats_nothing(name, alarm):
    ds = PIPELINES[name]
    expected = list(ds)
    began = time.perf_counter()
    assert same(list(ds), expected)
    lasts, hits = time.perf_counter() - began, 0
    for place in range(ROUNDS):
        found = []
        with iter(ds) as it:
            try:
                alarm(lasts * (place + 0.5) / ROUNDS)
                for element in it:
                    found.append(element)
                alarm(0)
            except KeyboardInterrupt:
                hits += 1
            with iter(ds) as other:
                other.set_state(it.get_state())
                assert same([*found, *other], expected), "the state is right"
            assert same([*found, *it], expected)
    assert hits


@pytest.mark.parametrize("above", [numbers(5), numbers(5).filter(lambda x: x % 2)], ids=["random access", "stream"])
def test_an_interrupt_at_the_end_of_a_flat_map_repeats_nothing(above, monkeypatch):
    ds = ex.FlatMapIterDataset(above, Twice())
    expected = list(ds)

    def interrupted(error):
        assert isinstance(error, StopIteration)
        raise KeyboardInterrupt

    it = iter(ds)
    found = list(islice(it, len(expected)))
    with monkeypatch.context() as patch:
        patch.setattr(flat_map, "is_interrupt", interrupted)
        with pytest.raises(KeyboardInterrupt):
            next(it)
    other = iter(ds)
    other.set_state(it.get_state())
    assert [*found, *other] == expected
    assert [*found, *it] == expected


def test_ctrl_c_in_close_leaves_nothing_open(alarm, nothing_is_left):
    ds = numbers().mp_prefetch(grain.MultiprocessingOptions(num_workers=2))
    for place in range(8):
        it = iter(ds)
        next(it)
        try:
            alarm(0.0005 * (place + 1))
            it.close()
            alarm(0)
        except KeyboardInterrupt:
            it.close()
        del it
