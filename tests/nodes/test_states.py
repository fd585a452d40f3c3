"""States with values that no iterator can have are refused, and leave the iterator where it is."""

import json

import pytest

import grain
from grain import experimental as ex
from grain._src.errors import StateError

S = grain.MapDataset.range(40).to_iter_dataset()
FAR = 2**70


class Twice(grain.transforms.FlatMap):
    max_fan_out = 2

    def flat_map(self, element):
        return [element, element]


PIPELINES = {
    "map_with_index": S.map_with_index(lambda i, x: (i, x)),
    "random_map": S.random_map(lambda x, rng: x + rng.random(), seed=1),
    "mix": grain.IterDataset.mix([S, S]),
    "named mix": grain.IterDataset.mix({"a": S, "b": S}),
    "window": ex.WindowShuffleIterDataset(S, window_size=4, seed=1),
    "flat_map": S.apply(Twice()),
    "limit": ex.LimitIterDataset(S, 30),
    "repeat": ex.RepeatIterDataset(S, 2),
    "cache": ex.CacheIterDataset(S),
    "rebatch": ex.RebatchIterDataset(S.batch(4), 3),
    "interleave": ex.InterleaveIterDataset([S, S, S], cycle_length=2),
    "elastic": ex.shard_batches(S.batch(4), grain.sharding.ShardOptions(0, 2)),
}


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("map_with_index", "counter", -1),
        ("map_with_index", "counter", FAR),
        ("random_map", "index_for_rng", -1),
        ("random_map", "index_for_rng", FAR),
        ("mix", "index", -1),
        ("mix", "index", FAR),
        ("named mix", "index", -1),
        ("window", "pos_in_window", 5),
        ("window", "pos_in_window", 10**9),
        ("window", "window_index", FAR),
        ("flat_map", "next_index_in_buffer", -1),
        ("limit", "count_elements_read", FAR),
        ("repeat", "epoch", FAR),
        ("cache", "position", FAR),
        ("rebatch", "batch_idx", FAR),
        ("interleave", "iterators_in_use_indices", ["a", 1]),
        ("interleave", "iterators_in_use_indices", [None, 1]),
        ("interleave", "iterators_in_use_indices", [-1, 1]),
        ("interleave", "iterators_in_use_indices", [0, 3]),
        ("interleave", "exhausted", [0, "no"]),
        ("interleave", "exhausted", [0, 2]),
        ("interleave", "exhausted", [0, None]),
        ("interleave", "iterators_in_use_states", [{"next_index": 1}, 5]),
        ("elastic", "global_next_index", FAR),
    ],
)
def test_a_value_that_cannot_be_is_refused_and_nothing_moves(name, key, value):
    iterator = iter(PIPELINES[name])
    expected = list(iter(PIPELINES[name]))
    for _ in range(3):
        next(iterator)
    state = json.loads(json.dumps(iterator.get_state()))
    assert key in state
    with pytest.raises(StateError):
        iterator.set_state({**state, key: value})
    assert iterator.get_state() == state
    assert str([*expected[:3], *iterator]) == str(expected)


def test_an_ended_stream_needs_a_state_as_the_others_do():
    iterator = iter(PIPELINES["interleave"])
    state = iterator.get_state()
    with pytest.raises(StateError, match="a dict for each stream of the cycle"):
        iterator.set_state({**state, "exhausted": [0, 1], "iterators_in_use_states": [{"next_index": 0}, None]})


@pytest.mark.parametrize("name", ["map_with_index", "random_map"])
def test_workers_refuse_it_too(name):
    with iter(PIPELINES[name].mp_prefetch(grain.MultiprocessingOptions(num_workers=1))) as iterator:
        expected = list(PIPELINES[name])
        state = iterator.get_state()
        (key,) = set(state) - {"parent"}
        with pytest.raises(StateError, match=f"{key!r} in the state must be at least 0, got -1"):
            iterator.set_state({**state, key: -1})
        assert [next(iterator) for _ in range(3)] == expected[:3]


def in_pairs(records):
    for first in records:
        second = next(records, None)
        yield first
        if second is not None:
            yield second


@pytest.mark.parametrize("given", [-1, 50])
def test_a_loader_stays_where_it_is_when_its_operation_did_not_give_so_many_records(given):
    sampler = grain.SequentialSampler(6, grain.NoSharding())
    iterator = iter(grain.DataLoader(data_source=range(6), sampler=sampler, operations=[in_pairs]))
    assert next(iterator) == 0
    state = json.loads(iterator.get_state())
    assert state["pipeline"]["records_given"] == 1
    state["pipeline"]["records_given"] = given
    with pytest.raises(StateError):
        iterator.set_state(json.dumps(state).encode())
    assert list(iterator) == [1, 2, 3, 4, 5]


def test_a_number_of_workers_that_is_none_is_refused():
    iterator = iter(grain.load(range(6), num_epochs=1))
    state = json.loads(iterator.get_state())
    for workers in ("two", -1, None):
        with pytest.raises(StateError, match="'worker_count' in the state must be"):
            iterator.set_state(json.dumps({**state, "worker_count": workers}).encode())
    assert list(iterator) == list(range(6))
