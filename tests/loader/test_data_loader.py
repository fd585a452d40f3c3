"""What a loader gives: the same elements whoever computes them."""

import numpy as np
import pytest

import grain
from grain.sharding import NoSharding, ShardOptions

INLINE = grain.ReadOptions(num_threads=0)


class AddOne(grain.transforms.Map):
    def map(self, element):
        return element + 1


class KeepOdd(grain.transforms.Filter):
    def filter(self, element):
        return element % 2 == 1


class AddNoise(grain.transforms.RandomMap):
    def random_map(self, element, rng):
        return element * 1000 + rng.integers(1000)


class AppendIndex(grain.transforms.MapWithIndex):
    def map_with_index(self, index, element):
        return element * 100 + index


class PlusMinus(grain.transforms.FlatMap):
    max_fan_out = 2

    def flat_map(self, element):
        return [element, -element]


def hold_back(records):
    """An operation that gives records in groups of three, each turned around."""
    held = []
    for record in records:
        held.append(record)
        if len(held) == 3:
            yield from reversed(held)
            held = []
    yield from reversed(held)


def loader(operations, *, records=23, num_epochs=2, seed=5, **options):
    sampler = grain.IndexSampler(records, num_epochs=num_epochs, shuffle=True, seed=seed)
    return grain.DataLoader(
        data_source=list(range(records)), sampler=sampler, operations=operations, **{"read_options": INLINE, **options}
    )


def run(data_loader):
    """Elements as lists, each with the state after it."""
    with iter(data_loader) as iterator:
        return [(np.asarray(element).tolist(), iterator.get_state()) for element in iterator]


BATCH = grain.transforms.Batch(4)
PIPELINES = {
    "nothing": [],
    "map": [AddOne()],
    "filter": [KeepOdd()],
    "random": [AddNoise()],
    "random twice around a filter": [AddNoise(), KeepOdd(), AddNoise()],
    "index, batch": [AppendIndex(), BATCH],
    "filter, batch": [KeepOdd(), BATCH],
    "filter, batch, random": [KeepOdd(), BATCH, AddNoise()],
    "random, batch, random": [AddNoise(), BATCH, AddNoise()],
    "flat map, batch": [PlusMinus(), grain.transforms.Batch(3)],
    "random after flat map": [AddNoise(), PlusMinus(), AddNoise(), grain.transforms.Batch(5, drop_remainder=True)],
    "operation": [hold_back],
    "operation, batch": [hold_back, BATCH],
    "random around an operation": [AddNoise(), hold_back, AddNoise()],
}


@pytest.mark.parametrize("name", PIPELINES)
def test_threads_change_neither_elements_nor_states(name):
    assert run(loader(PIPELINES[name], read_options=grain.ReadOptions())) == run(loader(PIPELINES[name]))


@pytest.mark.parametrize("name", PIPELINES)
def test_workers_change_neither_elements_nor_states(name):
    assert run(loader(PIPELINES[name], worker_count=2)) == run(loader(PIPELINES[name]))


@pytest.mark.parametrize("name", PIPELINES)
def test_every_state_resumes_where_it_was_taken(name):
    everything = run(loader(PIPELINES[name]))
    data_loader = loader(PIPELINES[name])
    for taken in range(0, len(everything), 4):
        iterator = iter(data_loader)
        iterator.set_state(everything[taken][1])
        assert iterator.get_state() == everything[taken][1]
        rest = [np.asarray(element).tolist() for element in iterator]
        assert rest == [element for element, _ in everything[taken + 1 :]]


def test_random_maps_of_a_record_go_on_with_its_generator():
    draws = []

    class Draw(grain.transforms.RandomMap):
        def random_map(self, element, rng):
            draws.append(int(rng.integers(1 << 60)))
            return element

    list(loader([Draw(), Draw()], records=3, num_epochs=1, seed=7))
    rngs = [np.random.Generator(np.random.Philox(key=7 + index)) for index in range(3)]
    assert draws == [int(rng.integers(1 << 60)) for rng in rngs for _ in range(2)]


def test_going_back_to_a_record_begins_its_numbers_anew():
    iterator = iter(loader([AddNoise()]))
    before = iterator.get_state()
    first = next(iterator)
    iterator.set_state(before)
    assert next(iterator) == first


def test_the_index_is_the_record_s_index_over_all_shards():
    sampler = grain.SequentialSampler(9)
    shard = grain.DataLoader(
        data_source=[0] * 9, sampler=sampler, operations=[AppendIndex()], shard_options=ShardOptions(1, 3)
    )
    assert list(shard) == [1, 4, 7]


def test_none_is_an_element_like_any_other():
    seen = []

    class Look(grain.transforms.Map):
        def map(self, element):
            seen.append(element)
            return element

    sampler = grain.SequentialSampler(3)
    data_loader = grain.DataLoader(
        data_source=[None, 1, None], sampler=sampler, operations=[Look()], read_options=INLINE
    )
    assert list(data_loader) == seen == [None, 1, None]


def test_a_failing_element_is_passed_over_by_the_next_call():
    class Picky(grain.transforms.Map):
        def map(self, element):
            if element == 2:
                raise KeyError("not this one")
            return element

    data_loader = grain.DataLoader(
        data_source=range(4), sampler=grain.SequentialSampler(4), operations=[Picky()], read_options=INLINE
    )
    iterator = iter(data_loader)
    assert [next(iterator), next(iterator)] == [0, 1]
    with pytest.raises(KeyError, match="not this one"):
        next(iterator)
    assert list(iterator) == [3]


def test_a_random_map_without_a_seed_says_what_is_missing():
    data_loader = grain.DataLoader(
        data_source=range(4), sampler=grain.SequentialSampler(4), operations=[AddNoise()], read_options=INLINE
    )
    with pytest.raises(AttributeError) as caught:
        next(iter(data_loader))
    assert "pass it a seed" in "".join(caught.value.__notes__)


class Backwards:
    """A user's sampler, without `__len__`."""

    def __init__(self, length):
        self.length = length

    def __getitem__(self, index):
        if index >= self.length:
            raise IndexError(index)
        rng = np.random.default_rng(index)
        return grain.RecordMetadata(index=index, record_key=self.length - 1 - index, rng=rng)


def test_a_user_s_sampler_is_asked_for_keys_and_generators():
    data_loader = grain.DataLoader(
        data_source=range(5), sampler=Backwards(5), operations=[AddNoise()], shard_options=NoSharding()
    )
    expected = [key * 1000 + np.random.default_rng(4 - key).integers(1000) for key in (4, 3, 2, 1, 0)]
    assert list(data_loader) == expected


def test_a_user_s_sampler_needs_shard_options():
    with pytest.raises(ValueError, match="shard_options must be given with a sampler of your own"):
        grain.DataLoader(data_source=range(5), sampler=Backwards(5))


def test_no_sampler_at_all_is_named_before_its_shard_options():
    with pytest.raises(TypeError, match="sampler must have `__getitem__`, but NoneType has none"):
        grain.DataLoader(data_source=range(5), sampler=None)


def test_an_error_of_a_sampler_comes_at_its_own_place():
    class Breaking(Backwards):
        def __len__(self):
            return 9

    data_loader = grain.DataLoader(data_source=range(5), sampler=Breaking(5), shard_options=NoSharding())
    iterator = iter(data_loader)
    assert [next(iterator) for _ in range(5)] == [4, 3, 2, 1, 0]
    with pytest.raises(IndexError):
        next(iterator)


def test_iterators_of_a_loader_are_independent():
    data_loader = loader([])
    first, second = iter(data_loader), iter(data_loader)
    taken = [next(first), next(first)]
    assert [next(second), next(second)] == taken


def test_a_closed_iterator_refuses_to_go_on():
    with iter(loader([])) as iterator:
        next(iterator)
    with pytest.raises(ValueError, match="closed"):
        next(iterator)


def test_a_machine_decides_how_many_workers():
    options = loader([], worker_count=None).multiprocessing_options
    assert options.num_workers != 1
    assert loader([], worker_count=3, worker_buffer_size=4).multiprocessing_options.per_worker_buffer_size == 4


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"worker_count": -1}, ValueError, "worker_count must be an integer of at least 0, got -1"),
        ({"worker_buffer_size": -1}, ValueError, "worker_buffer_size must be"),
        ({"read_options": 3}, TypeError, "read_options must be a grain.ReadOptions, got 3"),
        ({"shard_options": 3}, TypeError, "shard_options must be a grain.sharding.ShardOptions, got 3"),
        ({"operations": [3]}, TypeError, r"operations\[0\] must be .*got 3"),
        ({"data_source": iter(())}, TypeError, "__len__"),
        ({"sampler": 5, "shard_options": NoSharding()}, TypeError, "sampler must have `__getitem__`, but int has none"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments, error, message):
    given = {"data_source": [1, 2], "sampler": grain.SequentialSampler(2), **arguments}
    with pytest.raises(error, match=message):
        grain.DataLoader(**given)


def test_a_loader_prints_its_pipeline():
    names = [line.partition("(")[0] for line in repr(loader([AddOne(), BATCH])).splitlines()]
    assert names == ["source", "sample", "to_iter_dataset", "map", "batch"]
