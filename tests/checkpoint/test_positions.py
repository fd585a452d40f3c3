"""States are small and say a position: going there costs nothing, however far it is."""

import json

import pytest

import grain
from grain.experimental import ElasticIterator

BILLION = 10**9


def far():
    return grain.MapDataset.range(2 * BILLION).shuffle(seed=1)


class Noted:
    """A source that notes what is read."""

    def __init__(self):
        self.keys = []

    def __len__(self):
        return 2 * BILLION

    def __getitem__(self, key):
        self.keys.append(key)
        return key


PIPELINES = {
    "shuffle": lambda: far().to_iter_dataset(),
    "repeat": lambda: far().repeat().to_iter_dataset().batch(8),
    "random_map": lambda: far().to_iter_dataset().random_map(lambda x, rng: x, seed=1).batch(4),
    "filter": lambda: far().filter(lambda x: x % 2).to_iter_dataset().batch(4),
    "numbered": lambda: far().to_iter_dataset().map_with_index(lambda i, x: x).random_map(lambda x, rng: x, seed=2),
    "mix": lambda: grain.IterDataset.mix({f"component-{i}": far().to_iter_dataset() for i in range(10)}),
    "elastic": lambda: ElasticIterator(far(), 64, grain.sharding.ShardOptions(3, 8)),
    "workers": lambda: far().to_iter_dataset().batch(4).mp_prefetch(grain.MultiprocessingOptions(num_workers=2)),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_states_are_smaller_than_a_kilobyte_and_restore_to_the_same_place(name):
    with iter(PIPELINES[name]()) as it:
        for _ in range(5):
            next(it)
        state = json.loads(json.dumps(it.get_state()))
        assert len(json.dumps(state)) < 1024
        expected = next(it)
    with iter(PIPELINES[name]()) as again:
        again.set_state(state)
        assert again.get_state() == state
        assert (next(again) == expected) if isinstance(expected, int) else (next(again) == expected).all()


def test_going_a_billion_elements_ahead_reads_no_more_than_starting():
    inline = grain.ReadOptions(num_threads=0)
    read = []
    for position in (0, BILLION):
        source = Noted()
        it = iter(grain.MapDataset.source(source).shuffle(seed=1).to_iter_dataset(inline).batch(8))
        it.set_state({"next_index": position})
        batch = next(it)
        assert source.keys == batch.tolist()
        read.append(len(source.keys))
        assert it.get_state() == {"next_index": position + 8}
    assert read == [8, 8]
