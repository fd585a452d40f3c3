"""The same global sequence on any number of hosts, with any batch size."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grain
from grain.experimental import ElasticIterator, FlatMapMapDataset, FlatMapTransform, shard_batches
from grain.sharding import ShardOptions

# (hosts, global batch size, batches) of one run after the other.
RUNS = [(1, 4, 3), (2, 6, 2), (4, 8, 2), (3, 9, 1), (1, 5, 2)]


class Twice(FlatMapTransform):
    max_fan_out = 3

    def flat_map(self, element):
        return [element * 10, element * 10 + 1][: element % 3]


def records():
    return grain.MapDataset.range(60).seed(3)


PIPELINES = {
    "range": records,
    "shuffle": lambda: records().shuffle(),
    "repeat": lambda: records().shuffle().repeat(2),
    "map": lambda: records().map(lambda x: x * 10),
    "random_map": lambda: records().shuffle().random_map(lambda x, rng: x * 1000 + int(rng.integers(1000))),
    "map_with_index": lambda: records().shuffle().map_with_index(lambda i, x: i * 100 + x),
    "flat_map": lambda: FlatMapMapDataset(records().shuffle(), Twice()),
    "mix": lambda: grain.MapDataset.mix([records().shuffle(), grain.MapDataset.range(100, 140)], [2, 1]),
    "filter": lambda: records().shuffle().repeat(2).filter(lambda x: x % 3),
    "concatenate": lambda: grain.MapDataset.concatenate([records(), grain.MapDataset.range(100, 140)]).shuffle(seed=1),
}


def run_hosts(make, runs):
    """Runs the hosts of each run from the state of the run before; returns the global batches as lists of host parts."""
    state, batches = None, []
    for hosts, size, count in runs:
        parts, states = [], []
        for host in range(hosts):
            it = iter(make(size, ShardOptions(host, hosts)))
            if state is not None:
                it.set_state(state)
            parts.append([batch.tolist() for batch in itertools.islice(it, count)])
            states.append(it.get_state())
        assert all(own == states[0] for own in states), "every host has the same state"
        state = states[0]
        batches += zip(*parts, strict=True)
    return batches, state


def interleaved(parts):
    return [row for rows in zip(*parts, strict=True) for row in rows]


def sequence(ds):
    return list(ds.to_iter_dataset())


@pytest.mark.parametrize("name", PIPELINES)
def test_the_union_of_all_hosts_is_the_uninterrupted_sequence(name):
    ds = PIPELINES[name]()
    batches, state = run_hosts(lambda size, shard: ElasticIterator(ds, size, shard), RUNS)
    seen = [row for parts in batches for row in interleaved(parts)]
    assert seen == sequence(ds)[: len(seen)]
    assert len(seen) == sum(size * count for _, size, count in RUNS)
    assert list(state) == ["global_next_index"]


STREAMS = {
    "map": lambda: records().shuffle().to_iter_dataset().map(lambda x: x * 2),
    "random_map": lambda: records().to_iter_dataset().random_map(lambda x, rng: x * 1000 + int(rng.integers(1000))),
    "map_with_index": lambda: records().to_iter_dataset().map_with_index(lambda i, x: i * 100 + x),
    "filter": lambda: records().shuffle().to_iter_dataset().filter(lambda x: x % 5 != 2),
    "filter, then random_map": lambda: (
        records()
        .repeat(2)
        .to_iter_dataset()
        .filter(lambda x: x % 3)
        .random_map(lambda x, rng: x * 1000 + int(rng.integers(1000)))
    ),
    "flat_map": lambda: records().to_iter_dataset().apply(Twice()),
    "mix": lambda: grain.IterDataset.mix(
        {"a": records().shuffle().to_iter_dataset(), "b": grain.MapDataset.range(100, 140).to_iter_dataset()},
        {"a": 2, "b": 1},
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_any_stream_that_ends_in_a_global_batch_can_be_sharded(name):
    stream = STREAMS[name]()
    batches, _ = run_hosts(lambda size, shard: shard_batches(stream.batch(size), shard), RUNS[:4])
    seen = [row for parts in batches for row in interleaved(parts)]
    assert seen == list(stream)[: len(seen)]
    assert seen


def test_a_dataset_that_ends_in_a_batch_can_be_sharded():
    ds = records().shuffle()
    batches, _ = run_hosts(lambda size, shard: shard_batches(ds.batch(size), shard), RUNS)
    seen = [row for parts in batches for row in interleaved(parts)]
    assert seen == sequence(ds)[: len(seen)]


def test_a_host_reads_only_its_own_records_where_nothing_is_dropped():
    read = []

    def note(x):
        read.append(x)
        return x

    inline = grain.ReadOptions(num_threads=0)
    ds = grain.MapDataset.range(40).to_iter_dataset(inline).map(note).batch(8)
    list(shard_batches(ds, ShardOptions(1, 4)))
    assert read == list(range(1, 40, 4))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(0, 3)), min_size=1, max_size=5),
    st.booleans(),
)
def test_any_history_of_hosts_and_batch_sizes_sees_each_record_once(history, filtered):
    ds = records().shuffle().repeat(4)
    ds = ds.filter(lambda x: x % 4) if filtered else ds
    runs = [(hosts, hosts * part, count) for hosts, part, count in history]
    options = grain.ReadOptions(num_threads=0)
    batches, _ = run_hosts(lambda size, shard: ElasticIterator(ds, size, shard, read_options=options), runs)
    seen = [row for parts in batches for row in interleaved(parts)]
    assert seen == sequence(ds)[: len(seen)]


def test_workers_change_nothing():
    options = grain.MultiprocessingOptions(num_workers=2)
    batches, _ = run_hosts(
        lambda size, shard: ElasticIterator(records().shuffle(), size, shard, multiprocessing_options=options),
        [(2, 6, 2), (1, 5, 2)],
    )
    seen = [row for parts in batches for row in interleaved(parts)]
    assert seen == sequence(records().shuffle())[: len(seen)]


@pytest.mark.parametrize(
    "make", [lambda: grain.MapDataset.range(15), lambda: grain.MapDataset.range(15).filter(lambda x: True)]
)
def test_no_host_gets_a_batch_that_another_does_not_and_the_rest_is_left_for_a_smaller_batch(make):
    first, second = (ElasticIterator(make(), 4, ShardOptions(host, 2)) for host in range(2))
    assert len(list(first)) == len(list(second)) == 3
    assert first.get_state() == second.get_state() == {"global_next_index": 12}
    alone = ElasticIterator(make(), 3, ShardOptions(0, 1))
    alone.set_state(first.get_state())
    assert [batch.tolist() for batch in alone] == [[12, 13, 14]]


def test_an_elastic_iterator_is_its_own_iterator():
    elastic = ElasticIterator(grain.MapDataset.range(12), 4, ShardOptions(1, 2))
    assert iter(elastic) is iter(elastic)
    state = elastic.get_state()
    assert next(elastic).tolist() == [1, 3]
    elastic.set_state(state)
    assert next(elastic).tolist() == [1, 3]
    elastic.close()


def test_restoring_backwards_and_to_the_same_batches_goes_where_it_should():
    elastic = iter(ElasticIterator(grain.MapDataset.range(100), 10, ShardOptions(0, 2)))
    for position in (50, 0, 13, 33, 3, 100, 99):
        elastic.set_state({"global_next_index": position})
        assert elastic.get_state() == {"global_next_index": position}
        expected = list(range(position, position + 10, 2)) if position <= 90 else None
        batch = next(elastic, None)
        assert (batch.tolist() if batch is not None else None) == expected


def test_an_elastic_iterator_is_saved_as_its_iterator_is(tmp_path):
    elastic = ElasticIterator(records(), 6, ShardOptions(1, 2))
    next(elastic)
    grain.checkpoint.save(tmp_path / "its-own.json", elastic)
    grain.checkpoint.save(tmp_path / "of-it.json", iter(elastic))
    assert (tmp_path / "its-own.json").read_text() == (tmp_path / "of-it.json").read_text()


@pytest.mark.parametrize("position", [0, 10, 13])
def test_a_closed_elastic_iterator_stays_closed(position):
    it = iter(ElasticIterator(records(), 10, ShardOptions(0, 2)))
    it.close()
    it.set_state({"global_next_index": position})
    with pytest.raises(ValueError, match="closed"):
        next(it)


def test_elastic_pipelines_are_saved_without_what_may_change(tmp_path):
    ds = records().shuffle()
    it = iter(ElasticIterator(ds, 6, ShardOptions(1, 2)))
    next(it)
    grain.checkpoint.save(tmp_path / "data.json", it)
    alone = grain.checkpoint.restore(tmp_path / "data.json", iter(ElasticIterator(ds, 4, ShardOptions(0, 1))))
    assert next(alone).tolist() == sequence(ds)[6:10]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda ds: ElasticIterator(ds, 5, ShardOptions(0, 2)), ValueError, "divisible.*5 and 2"),
        (lambda ds: ElasticIterator(ds, 0, ShardOptions(0, 2)), ValueError, "global_batch_size must be a positive"),
        (lambda ds: ElasticIterator(ds.to_iter_dataset(), 4, ShardOptions(0, 2)), TypeError, "shard_batches"),
        (lambda ds: shard_batches(ds, ShardOptions(0, 2)), ValueError, "must end in `batch"),
        (lambda ds: shard_batches(ds.to_iter_dataset().batch(3), ShardOptions(0, 2)), ValueError, "divisible"),
        (lambda ds: shard_batches([1], ShardOptions(0, 2)), TypeError, "got list"),
    ],
)
def test_bad_arguments_fail_at_construction(make, error, message):
    with pytest.raises(error, match=message):
        make(grain.MapDataset.range(10))


@pytest.mark.parametrize("state", [{"next_index": 3}, {"global_next_index": -1}, {"global_next_index": "1"}, [], {}])
def test_a_state_of_another_pipeline_is_refused(state):
    it = iter(ElasticIterator(grain.MapDataset.range(10), 2, ShardOptions(0, 2)))
    next(it)
    with pytest.raises(ValueError, match="state"):
        it.set_state(state)
    assert it.get_state() == {"global_next_index": 2}
