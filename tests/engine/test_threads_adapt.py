"""Threads rest, go on, come and go, as their times and the consumer's suggest; nobody sees it in what comes out."""

import threading
import time

import numpy as np
import pytest

import grain
from grain._src.engine import threads, trials, tuning

M = grain.MapDataset


class Busy:
    """Holds the interpreter lock for some microseconds, and notes who does."""

    def __init__(self):
        self.by = {}

    def __call__(self, x):
        sum(range(300))
        self.by[x] = threading.get_ident()
        return x


def take_until_alone(it, busy, most=200_000, row=40, step=lambda: None):
    """Asks for elements, and takes a step for each, until a row of them was computed by the thread that asks."""
    own = 0
    for number in range(most):
        assert next(it) == number
        step()
        own = own + 1 if busy.by[number] == threading.get_ident() else 0
        if own == row:
            return number + 1
    raise AssertionError("threads went on to compute for a consumer that has no other work")


@pytest.mark.parametrize("threads", [1, 2, 16])
def test_threads_rest_while_the_consumer_does_nothing_but_ask(threads):
    busy = Busy()
    with iter(M.range(10**7).map(busy).to_iter_dataset(grain.ReadOptions(threads, 100))) as it:
        taken = take_until_alone(it, busy)
        assert [next(it) for _ in range(500)] == list(range(taken, taken + 500))


@pytest.mark.parametrize("amount", [300, 1000])
def test_threads_rest_while_the_consumer_keeps_the_interpreter_lock(amount):
    busy = Busy()
    with iter(M.range(10**7).map(busy).to_iter_dataset(grain.ReadOptions(16, 100))) as it:
        taken = take_until_alone(it, busy, row=10_000, step=lambda: sum(range(amount)))
        assert [next(it) for _ in range(500)] == list(range(taken, taken + 500))


def test_threads_go_on_while_the_consumer_waits_most_of_the_time():
    busy = Busy()
    with iter(M.range(10**7).map(busy).to_iter_dataset(grain.ReadOptions(16, 100))) as it:
        for number in range(1500):
            assert next(it) == number
            time.sleep(2e-4)
    own = sum(busy.by[number] == threading.get_ident() for number in range(500, 1500))
    assert own < 200, "it would wait for elements that could have been there"


def test_a_thread_gets_ahead_again_as_soon_as_the_consumer_has_other_work():
    busy = Busy()
    with iter(M.range(10**7).map(busy).to_iter_dataset(grain.ReadOptions(4, 100))) as it:
        taken = take_until_alone(it, busy)
        computed, deadline = len(busy.by), time.monotonic() + 30
        while len(busy.by) < computed + 20 and time.monotonic() < deadline:
            time.sleep(0.001)  # what a training step looks like from here
        assert len(busy.by) >= computed + 20
        assert [next(it) for _ in range(500)] == list(range(taken, taken + 500))


def test_elements_stay_in_order_while_threads_rest_and_go_on(monkeypatch):
    for name, value in {
        "_TRIAL_PAUSES": (0.02, 0.05),
        "_PACE_SECONDS": 3e-3,
        "_PACE_BLOCKS": 2,
    }.items():
        monkeypatch.setattr(tuning, name, value)
    rests = []
    rest = threads._Work._rest
    monkeypatch.setattr(threads._Work, "_rest", lambda work, alone: rests.append(alone) or rest(work, alone))
    it = iter(M.range(10**9).map(lambda i: sum(range(500)) and i).to_iter_dataset())
    expected, rng, deadline = 0, np.random.default_rng(0), time.monotonic() + 60
    with it:
        while not {True, False} <= set(rests) or len(rests) < 6:
            assert time.monotonic() < deadline
            if rng.random() < 0.2:
                expected = int(rng.integers(10**6))
                it.set_state({"next_index": expected})
            waits = rng.random() < 0.5
            for _ in range(1000):
                assert next(it) == expected
                expected += 1
                if waits and expected % 200 == 0:
                    time.sleep(0.012)
                elif not waits:
                    sum(range(1000))


def test_elements_and_errors_stay_in_order_while_the_number_of_threads_is_contested(monkeypatch):
    monkeypatch.setattr(tuning, "_CONTEST_PAUSES", (5e-3, 5e-3))
    monkeypatch.setattr(trials, "_ROUND_SECONDS", 1e-3)
    contests = []

    class Contest(trials.Contest):
        def __init__(self, few, more):
            super().__init__(few, more)
            contests.append((few, more))

    monkeypatch.setattr(tuning, "Contest", Contest)

    def read(index):
        time.sleep(5e-4)
        sum(range(10_000))
        if index % 97 == 0:
            raise ValueError(index)
        return index

    ds = M.range(10**9).map(read).to_iter_dataset()
    rng, deadline = np.random.default_rng(0), time.monotonic() + 60
    while len(contests) < 10 or len(set(contests)) < 2:  # one in which the most threads have won has no others
        assert time.monotonic() < deadline, contests
        expected = 0
        with iter(ds) as it:
            for _ in range(3000):
                if rng.random() < 0.02:
                    expected = int(rng.integers(10**6))
                    it.set_state({"next_index": expected})
                if expected % 97 == 0:
                    with pytest.raises(ValueError, match=str(expected)):
                        next(it)
                    it.set_state({"next_index": expected + 1})
                else:
                    assert next(it) == expected
                    assert it.get_state() == {"next_index": expected + 1}
                expected += 1
