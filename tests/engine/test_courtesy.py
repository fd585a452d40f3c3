"""Threads that keep the interpreter lock hold back for a consumer that is about to come, as long as enough is ready."""

import itertools
import time

import pytest

import grain
from grain._src.engine import tuning
from grain._src.engine.courtesy import Courtesy


def visits(courtesy, away, count=3):
    for _ in range(count):
        courtesy.visit(away)


def test_a_block_is_begun_where_it_is_done_before_the_consumer_comes():
    courtesy = Courtesy()
    visits(courtesy, 10.0)
    assert courtesy.pause(0.0, 6.0) == 0
    assert courtesy.pause(3.0, 6.0) == 0
    assert courtesy.pause(6.0, 6.0) > 0
    assert courtesy.pause(6.0, 1.0) == 0


def test_nobody_waits_for_a_consumer_that_is_late():
    courtesy = Courtesy()
    visits(courtesy, 10.0)
    pause = courtesy.pause(6.0, 6.0)
    assert 6.0 + pause > 10.0, "it may be a little late"
    assert courtesy.pause(6.0 + pause, 6.0) == 0
    assert courtesy.pause(1000.0, 6.0) == 0


def test_a_thread_that_does_not_keep_up_never_waits():
    courtesy = Courtesy()
    visits(courtesy, 10.0)
    assert not any(courtesy.pause(away / 10, 11.0) for away in range(200))


def test_nothing_is_known_of_a_consumer_that_was_never_seen():
    assert Courtesy().pause(5.0, 6.0) == 0


def test_the_buffer_fills_up_in_time():
    courtesy = Courtesy()
    begun = 0
    for _ in range(800):
        courtesy.visit(10.0)
        assert courtesy.pause(0.0, 6.0) == 0
        begun += courtesy.pause(6.0, 6.0) == 0
    assert begun == pytest.approx(100, abs=2), "one block now and then besides that of each visit"


def test_visits_that_were_held_up_do_not_hide_how_long_the_consumer_is_away():
    courtesy = Courtesy()
    for number in range(300):
        courtesy.visit(16.0 if number % 8 else 10.0)
    assert any(courtesy.pause(6.0, 6.0) > 0 for _ in range(2)), "at most the first one fills up the buffer"


def test_a_few_visits_that_come_soon_are_forgotten():
    courtesy = Courtesy()
    visits(courtesy, 1e-6)
    visits(courtesy, 10.0, count=150)
    courtesy.visit(1e-6)
    assert any(courtesy.pause(6.0, 6.0) > 0 for _ in range(2))


def test_a_consumer_that_takes_longer_from_now_on_is_known_after_some_time():
    courtesy = Courtesy()
    visits(courtesy, 10.0)
    visits(courtesy, 20.0, count=100)
    assert not any(courtesy.pause(6.0, 6.0) for _ in range(2))


@pytest.fixture
def computing(monkeypatch):
    """Has reading look like code that keeps the interpreter lock, however busy the machine is."""
    monkeypatch.setattr(tuning.ThreadTuner, "computes", True)
    monkeypatch.setattr(tuning.ThreadTuner, "holds_lock", True)


def reading(buffer):
    """A running dataset, and the elements that were computed so far."""
    computed = []
    ds = grain.MapDataset.range(10**6).map(lambda x: computed.append(x) or time.sleep(2e-3) or x)
    return iter(ds.to_iter_dataset(grain.ReadOptions(1, buffer))), computed


def until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(1e-3)


def test_a_small_buffer_is_filled_at_each_visit(computing):
    it, computed = reading(4)
    with it:
        for number in range(30):
            assert next(it) == number
            until(lambda due=number + 5: len(computed) == due and it._reader._work._idle)


def test_with_enough_ready_the_next_block_waits_for_the_consumer(computing, monkeypatch):
    monkeypatch.setattr(Courtesy, "pause", lambda *_: 60.0)
    it, computed = reading(100)
    with it:
        for number in range(30):
            assert next(it) == number
            until(lambda due=number + 9: len(computed) == due and it._reader._work._idle)
        monkeypatch.setattr(Courtesy, "pause", lambda *_: 1e-3)
        assert next(it) == 30
        monkeypatch.setattr(Courtesy, "pause", lambda *_: 0.0)
        until(lambda: len(computed) == 131)
        assert [next(it) for _ in range(60)] == list(range(31, 91))


def test_elements_and_states_are_the_same_whoever_waits_for_whom(computing, monkeypatch):
    pauses = itertools.cycle([0.0, 1e-3, 0.0, 5e-3])
    monkeypatch.setattr(Courtesy, "pause", lambda *_: next(pauses))
    it, _ = reading(20)
    with it:
        for start in (0, 500, 3):
            it.set_state({"next_index": start})
            for number in range(start, start + 60):
                assert next(it) == number
                assert it.get_state() == {"next_index": number + 1}
                if number % 7 == 0:
                    time.sleep(3e-3)
