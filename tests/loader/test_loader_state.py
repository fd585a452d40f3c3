"""A loader's state: what it says, and which states of other runs it understands."""

import json

import pytest

import grain
from grain._src.errors import StateError
from grain.sharding import NoSharding, ShardOptions


def loader(records=12, operations=(), shard=None, source=None, seed=7):
    sampler = grain.IndexSampler(records, shard or NoSharding(), num_epochs=1, seed=seed)
    data_source = list(range(records)) if source is None else source
    return grain.DataLoader(data_source=data_source, sampler=sampler, operations=operations)


def written(last_seen, worker_count=0, data_loader=None, **changes):
    """A state as the reference writes it, for the loader given."""
    state = json.loads(iter(data_loader or loader()).get_state())
    indices = {str(worker): index for worker, index in enumerate(last_seen)}
    return json.dumps({**state, "last_seen_indices": indices, "worker_count": worker_count, **changes}).encode()


def rest(state, data_loader=None):
    iterator = iter(data_loader or loader())
    iterator.set_state(state)
    return list(iterator)


def test_the_state_is_the_reference_s():
    iterator = iter(loader(9))
    for _ in range(6):
        next(iterator)
    assert json.loads(iterator.get_state()) == {
        "version": 2,
        "last_seen_indices": {"0": 5},
        "last_worker_index": -1,
        "worker_count": 0,
        "sampler": "IndexSampler(num_records=9, shard_options=NoSharding(shard_index=0, shard_count=1, "
        "drop_remainder=False), shuffle=False, num_epochs=1, seed=7)",
        "data_source": "<class 'list'>",
    }


def test_indices_of_a_shard_are_counted_over_all_shards():
    iterator = iter(loader(9, shard=ShardOptions(1, 3)))
    assert json.loads(iterator.get_state())["last_seen_indices"] == {"0": -2}
    next(iterator)
    next(iterator)
    assert json.loads(iterator.get_state())["last_seen_indices"] == {"0": 4}


@pytest.mark.parametrize(
    ("last_seen", "workers", "first"),
    [
        ([-1], 0, 0),
        ([4], 0, 5),
        ([4], 1, 5),
        ([11], 0, 12),
        ([-2, -1], 2, 0),
        ([0, -1], 2, 1),
        ([4, 5], 2, 6),
        ([6, 4, 5], 3, 7),
        ([2, 3], 2, 4),
    ],
)
def test_states_of_the_reference_with_workers_that_read_a_beginning_are_positions(last_seen, workers, first):
    assert rest(written(last_seen, workers)) == list(range(first, 12))


def test_shards_and_workers_of_the_reference_together():
    data_loader = loader(
        9, shard=ShardOptions(1, 2)
    )  # worker 0 reads the indices 1, 5, …, worker 1 the indices 3, 7, …
    assert rest(written([5, 3], 2, data_loader), data_loader) == [8]


def test_workers_that_batched_on_their_own_have_no_common_position():
    with pytest.raises(StateError, match="worker 1 has done its reads up to number -1, others are at 2"):
        rest(written([2, -1], 2))


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (b"rubbish", "is JSON, got b'rubbish'"),
        (b"[]", "is a JSON object"),
        (b"{}", "is not of a loader"),
        ("text", "is bytes, as get_state"),
        (written([3], version=7), "version 7"),
        (
            written([3], sampler="Other()"),
            r"the sampler has changed[^$]*in the state: Other\(\)[^$]*in the loader: Index",
        ),
        (written([3], data_source="Other()"), "the data_source has changed"),
        (written([12]), "the state is at read 13, but the loader has 12"),
        (written([-5]), "are not reads of shard 0 of 1"),
        (written([3, 4]), "must name each of 0 workers"),
    ],
)
def test_a_state_that_does_not_fit_is_refused_with_what_differs(state, message):
    with pytest.raises(StateError, match=message):
        rest(state)


def test_a_state_of_other_shards_is_noticed():
    data_loader = loader(9, shard=ShardOptions(1, 3))
    with pytest.raises(StateError, match="not reads of shard 1 of 3"):
        rest(written([3], data_loader=data_loader), data_loader)


def test_a_refused_state_leaves_the_iterator_where_it_is():
    iterator = iter(loader())
    next(iterator)
    with pytest.raises(StateError):
        iterator.set_state(written([2, -1], 2))
    assert next(iterator) == 1


def test_validation_can_be_left_out():
    iterator = grain.DataLoaderIterator(loader(), written([3], sampler="Other()"), validate_state=False)
    assert next(iterator) == 4


def test_a_source_without_a_repr_of_its_own_is_the_same_in_another_run():
    class Plain:
        def __len__(self):
            return 3

        def __getitem__(self, index):
            return index

    state = iter(loader(3, source=Plain())).get_state()
    assert " at 0x" not in state.decode()
    assert rest(state, loader(3, source=Plain())) == [0, 1, 2]


class PlusMinus(grain.transforms.FlatMap):
    max_fan_out = 2

    def flat_map(self, element):
        return [element, -element]


@pytest.mark.parametrize(
    ("position", "expected"), [((0, 0), [0, 0, 1, -1]), ((0, 1), [0, 1, -1]), ((1, 1), [-1]), ((2, 2), [])]
)
def test_states_of_the_reference_with_a_flat_map_are_understood(position, expected):
    next_index, number = position
    state = json.dumps({"parent": {"next_index": next_index}, "next_index_in_buffer": number}).encode()
    assert rest(state, loader(2, operations=[PlusMinus()])) == expected


def test_a_state_with_a_flat_map_describes_sampler_and_source_too():
    iterator = iter(loader(4, operations=[PlusMinus()]))
    for _ in range(3):
        next(iterator)
    state = json.loads(iterator.get_state())
    assert state["pipeline"] == {"parent": {"next_index": 1}, "next_index_in_buffer": 1}
    assert state["sampler"].startswith("IndexSampler(")


async def _await(outer):
    await (await outer)


def test_an_iterator_saves_and_loads_itself_by_the_protocol_of_orbax(tmp_path):
    import asyncio

    iterator = iter(loader())
    for _ in range(5):
        next(iterator)
    asyncio.run(_await(iterator.save(tmp_path)))
    other = iter(loader())
    asyncio.run(_await(other.load(tmp_path)))
    assert list(other) == list(iterator)
