"""DatasetIterator: states, closing, contexts; a state that does not fit is refused and changes nothing."""

import itertools
import json
import threading

import pytest

import grain
from grain.experimental import DatasetOptions, FlatMapIterDataset, ThreadPrefetchIterDataset, WithOptionsIterDataset
from grain.transforms import FlatMap

M, I = grain.MapDataset, grain.IterDataset  # noqa: E741


class Twice(FlatMap):
    max_fan_out = 2

    def flat_map(self, element):
        return [element, -element]


PIPELINES = {
    "map dataset": lambda: M.range(12),
    "inline": lambda: M.range(12).to_iter_dataset(grain.ReadOptions(0, 0)),
    "threads": lambda: M.range(12).to_iter_dataset(grain.ReadOptions(2, 3)),
    "map": lambda: M.range(12).to_iter_dataset().map(lambda x: x + 1),
    "random_map": lambda: M.range(12).to_iter_dataset().random_map(lambda x, rng: x + rng.random(), seed=1),
    "map_with_index": lambda: M.range(12).to_iter_dataset().map_with_index(lambda i, x: i * x),
    "filter": lambda: M.range(12).to_iter_dataset().filter(lambda x: x % 3),
    "batch": lambda: M.range(12).to_iter_dataset().batch(3, batch_fn=tuple),
    "flat map": lambda: FlatMapIterDataset(M.range(12).to_iter_dataset(), Twice()),
    "mix": lambda: I.mix([M.range(12).to_iter_dataset(), M.range(20, 40).to_iter_dataset().map(str)]),
    "mix mapping": lambda: I.mix({"a": M.range(12).to_iter_dataset(), "b": M.range(20, 40).to_iter_dataset()}),
    "thread prefetch": lambda: ThreadPrefetchIterDataset(
        M.range(12).to_iter_dataset().map_with_index(lambda i, x: (i, x)), prefetch_buffer_size=3
    ),
    "options": lambda: WithOptionsIterDataset(M.range(12).to_iter_dataset(), DatasetOptions()),
    "workers": lambda: M.range(12).to_iter_dataset().map(str).mp_prefetch(grain.MultiprocessingOptions(1)),
    "workers, ordered": lambda: (
        FlatMapIterDataset(M.range(12).to_iter_dataset(), Twice())
        .map_with_index(lambda i, x: (i, x))
        .mp_prefetch(grain.MultiprocessingOptions(1))
    ),
}
each_pipeline = pytest.mark.parametrize("name", PIPELINES)


@each_pipeline
def test_a_state_is_small_json(name):
    with iter(PIPELINES[name]()) as it:
        for _ in range(3):
            next(it)
        state = it.get_state()
        assert json.loads(json.dumps(state)) == state
        expected = list(it)
        it.set_state(json.loads(json.dumps(state)))
        assert list(it) == expected


STRANGE = [
    {},
    {"next_index": "3"},
    {"next_index": -1},
    {"next_index": 10**9},
    {"next_index": True},
    {"something": 1},
    {"parent": {"next_index": -5}, "counter": 1, "index_for_rng": 2, "next_index_in_buffer": 0},
    {"parent": {"next_index": 3}, "counter": "1", "index_for_rng": None, "next_index_in_buffer": "a"},
    {"parents": [{"next_index": 3}, {"next_index": -1}], "index": 3, "stop": False},
    {"parents": [{"next_index": 3}], "index": 3, "stop": False},
    {"parents": {"a": {"next_index": 3}, "b": {}}, "index": 3, "stop": False},
    None,
    3,
]


@each_pipeline
def test_a_state_that_does_not_fit_is_refused_and_the_iterator_stays_where_it_was(name):
    with iter(PIPELINES[name]()) as it:
        start = it.get_state()
        expected = list(it)
        for state in STRANGE:
            it.set_state(start)
            seen = [next(it) for _ in range(2)]
            before = it.get_state()
            with pytest.raises(ValueError, match="state"):
                it.set_state(state)
            assert it.get_state() == before, state
            assert seen + list(it) == expected, state


def test_a_flat_map_state_with_more_outputs_than_there_are_is_refused():
    for workers in (0, 1):
        ds = FlatMapIterDataset(M.range(5).to_iter_dataset(), Twice())
        with iter(ds.mp_prefetch(grain.MultiprocessingOptions(workers))) as it:
            next(it)
            with pytest.raises(ValueError, match="outputs of an element are consumed"):
                it.set_state({"parent": {"next_index": 1}, "next_index_in_buffer": 9})
                next(it)


def test_what_differs_is_said():
    it = iter(I.mix([M.range(3).to_iter_dataset()]))
    with pytest.raises(ValueError, match="a mixture of 2 datasets, this one has 1"):
        it.set_state({"parents": [{}, {}], "index": 0, "stop": False})
    it = iter(M.range(3).to_iter_dataset().map_with_index(lambda i, x: x))
    with pytest.raises(ValueError, match=r"no 'counter'.*another pipeline.*It has \['next_index'\]"):
        it.set_state({"next_index": 1})
    with pytest.raises(ValueError, match="'counter' in the state must be of type int, got 'x'"):
        it.set_state({"parent": {"next_index": 1}, "counter": "x"})


@each_pipeline
@pytest.mark.parametrize("seen", [0, 1, 1000])
def test_after_close_next_is_an_error_and_closing_again_is_not(name, seen):
    it = iter(PIPELINES[name]())
    list(itertools.islice(it, seen))
    state = it.get_state()
    it.close()
    it.close()
    for _ in range(2):
        with pytest.raises(ValueError, match="closed iterator"):
            next(it)
    assert it.get_state() == state


@each_pipeline
def test_an_iterator_is_a_context(name):
    with iter(PIPELINES[name]()) as it:
        next(it)
    with pytest.raises(ValueError, match="closed"):
        next(it)


@each_pipeline
def test_the_end_stays_the_end_until_a_state_is_set_and_starting_ahead_changes_nothing(name):
    with iter(PIPELINES[name]()) as it:
        start = it.get_state()
        expected = list(it)
        assert list(it) == []
        it.set_state(start)
        it.start_prefetch()
        assert list(it) == expected


def test_read_ahead_begins_where_the_state_is():
    seen, ready = [], threading.Event()

    def note(x):
        seen.append(x)
        ready.set()
        return x

    with iter(M.range(100).map(note).to_iter_dataset(grain.ReadOptions(1, 2))) as it:
        it.set_state({"next_index": 50})
        it.start_prefetch()
        assert ready.wait(20)
        assert next(it) == 50
        assert min(seen) == 50
