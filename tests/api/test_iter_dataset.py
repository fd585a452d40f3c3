"""IterDataset: what each transformation of a stream gives, and its state after each element."""

import pytest

import grain
from grain.experimental import FlatMapIterDataset, ThreadPrefetchIterDataset, multithread_prefetch
from grain.transforms import Batch, Filter, FlatMap, Map, MapWithIndex, RandomMap

M, I = grain.MapDataset, grain.IterDataset  # noqa: E741
READERS = pytest.mark.parametrize(
    "options", [grain.ReadOptions(0, 0), grain.ReadOptions(3, 4), None], ids=["inline", "threads", "default"]
)


class Repeat(FlatMap):
    max_fan_out = 3

    def flat_map(self, element):
        return [(element, k) for k in range(element % 4)]


class Odd(Filter):
    def filter(self, element):
        return element % 2 == 1


class Double(Map):
    def map(self, element):
        return element * 2


class Numbered(MapWithIndex):
    def map_with_index(self, index, element):
        return index, element


class Jitter(RandomMap):
    def random_map(self, element, rng):
        return element, int(rng.integers(1000))


def plain(element):
    return element.tolist() if hasattr(element, "tolist") else element


def run(ds):
    it = iter(ds)
    seen = [(plain(element), it.get_state()) for element in it]
    it.close()
    return seen


@READERS
@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda ds: ds, [(0, {"next_index": 1}), (1, {"next_index": 2}), (2, {"next_index": 3}), (3, {"next_index": 4})]),
        (lambda ds: ds.map(Double()).filter(lambda x: x != 2), [
            (0, {"next_index": 1}), (4, {"next_index": 3}), (6, {"next_index": 4})]),
        (lambda ds: ds.filter(Odd()), [(1, {"next_index": 2}), (3, {"next_index": 4})]),
        (lambda ds: ds.map_with_index(Numbered()).filter(lambda pair: pair[1] > 1), [
            ((2, 2), {"parent": {"next_index": 3}, "counter": 3}),
            ((3, 3), {"parent": {"next_index": 4}, "counter": 4})]),
        (lambda ds: ds.filter(Odd()).map_with_index(Numbered()), [
            ((0, 1), {"parent": {"next_index": 2}, "counter": 1}),
            ((1, 3), {"parent": {"next_index": 4}, "counter": 2})]),
        (lambda ds: ds.batch(3), [([0, 1, 2], {"next_index": 3}), ([3], {"next_index": 4})]),
        (lambda ds: ds.batch(3, drop_remainder=True), [([0, 1, 2], {"next_index": 3})]),
        (lambda ds: ds.filter(Odd()).batch(2, batch_fn=sum), [(4, {"next_index": 4})]),
        (lambda ds: ds.apply([Odd(), Double(), Batch(2)]), [([2, 6], {"next_index": 4})]),
        (lambda ds: ds.seed(3).pipe(lambda ds: ds.map(str)), [
            (str(i), {"next_index": i + 1}) for i in range(4)]),
        (lambda ds: FlatMapIterDataset(ds, Repeat()), [
            ((1, 0), {"parent": {"next_index": 1}, "next_index_in_buffer": 1}),
            ((2, 0), {"parent": {"next_index": 2}, "next_index_in_buffer": 1}),
            ((2, 1), {"parent": {"next_index": 2}, "next_index_in_buffer": 2}),
            ((3, 0), {"parent": {"next_index": 3}, "next_index_in_buffer": 1}),
            ((3, 1), {"parent": {"next_index": 3}, "next_index_in_buffer": 2}),
            ((3, 2), {"parent": {"next_index": 3}, "next_index_in_buffer": 3})]),
        (lambda ds: ThreadPrefetchIterDataset(ds.filter(Odd()), prefetch_buffer_size=3), [
            (1, {"next_index": 2}), (3, {"next_index": 4})]),
        (lambda ds: multithread_prefetch(ds.filter(Odd()), num_threads=2, buffer_size=2), [
            (1, {"next_index": 2}), (3, {"next_index": 4})]),
    ],
)  # fmt: skip
def test_elements_and_the_state_after_each(build, expected, options):
    assert run(build(M.range(4).to_iter_dataset(options))) == expected


@READERS
def test_at_the_end_everything_counts_as_seen(options):
    it = iter(M.range(5).to_iter_dataset(options).filter(lambda x: x < 3).batch(2, drop_remainder=True))
    assert next(it).tolist() == [0, 1]
    with pytest.raises(StopIteration):
        next(it)
    assert it.get_state() == {"next_index": 5}
    with pytest.raises(StopIteration):
        next(it)
    it.close()


def test_random_map_gives_each_record_its_generator_whatever_was_filtered_before():
    base = M.range(8).to_iter_dataset(grain.ReadOptions(0, 0))
    everything = dict(base.random_map(Jitter(), seed=5))
    assert dict(base.filter(Odd()).random_map(Jitter(), seed=5)) == {x: everything[x] for x in (1, 3, 5, 7)}
    assert list(everything.items()) == list(M.range(8).random_map(Jitter(), seed=5))
    it = iter(base.random_map(Jitter(), seed=5))
    next(it)
    assert it.get_state() == {"parent": {"next_index": 1}, "index_for_rng": 1}


@READERS
@pytest.mark.parametrize(
    "between",
    [
        lambda ds: ds,
        lambda ds: ds.mp_prefetch(grain.MultiprocessingOptions(0)),
        lambda ds: ThreadPrefetchIterDataset(ds, prefetch_buffer_size=2),
        lambda ds: grain.experimental.WithOptionsIterDataset(ds, grain.experimental.DatasetOptions()),
        lambda ds: ds.map(lambda x: x),
        lambda ds: ds.seed(9),
    ],
)
def test_what_only_runs_or_passes_on_between_does_not_change_the_numbers(between, options):
    base = M.range(8).to_iter_dataset(options).filter(Odd())
    expected = list(base.random_map(Jitter(), seed=5))
    assert list(between(base).random_map(Jitter(), seed=5)) == expected


def test_random_map_after_a_batch_numbers_the_batches():
    ds = M.range(8).to_iter_dataset().batch(2).random_map(lambda b, rng: int(rng.integers(1000)), seed=5)
    assert list(ds) == [drawn for _, drawn in M.range(4).random_map(Jitter(), seed=5)]


def test_seeds_are_derived_as_in_a_dataset_with_random_access():
    assert list(M.range(9).seed(1).to_iter_dataset().random_map(Jitter())) != list(
        M.range(9).seed(1).random_map(Jitter())
    )
    one = M.range(9).to_iter_dataset().seed(1).random_map(Jitter())
    assert list(one) == list(M.range(9).seed(1).random_map(Jitter()))


@READERS
def test_none_passes_through_maps_and_only_filters_see_it(options):
    holes = M.range(4).map(lambda x: None if x == 2 else x).to_iter_dataset(options, allow_nones=True)
    assert list(holes.map(lambda x: x + 1).filter(lambda x: x is None or x > 1)) == [2, None, 4]
    assert list(holes.map_with_index(lambda i, x: (i, x))) == [(0, 0), (1, 1), None, (3, 3)]
    assert list(holes.map(lambda x: None if x == 3 else x)) == [0, 1, None, None]
    made = M.range(3).to_iter_dataset(options).batch(2, batch_fn=lambda elements: None)
    assert list(made) == [None, None]


@READERS
@pytest.mark.parametrize("weights", [None, [1, 2]])
def test_mixtures_of_streams_go_on_until_the_first_ends(weights, options):
    a, b = M.range(3).to_iter_dataset(options), M.range(10, 20).to_iter_dataset(options)
    expected = [0, 10, 1, 11, 2, 12] if weights is None else [0, 10, 11, 1, 12, 13, 2, 14, 15]
    assert list(I.mix([a, b], weights)) == expected
    keyed = None if weights is None else {"b": 2, "a": 1}
    it = iter(I.mix({"b": b, "a": a}, keyed))
    assert list(it) == expected
    assert it.get_state() == {
        "parents": {"a": {"next_index": 3}, "b": {"next_index": len(expected) - 3}},
        "index": len(expected),
        "stop": True,
    }
    assert list(it) == []


def test_a_mixture_takes_datasets_with_random_access_too():
    assert list(I.mix([M.range(2), M.range(10, 12).to_iter_dataset()])) == [0, 10, 1, 11]


def test_a_flat_map_beyond_its_limit_says_so():
    class Many(FlatMap):
        max_fan_out = 2

        def flat_map(self, element):
            return [element] * 3

    with pytest.raises(ValueError, match="gave 3 elements for one, more than max_fan_out=2"):
        list(M.range(2).apply(Many()))
    assert list(M.range(2).to_iter_dataset().apply(Many())) == [0, 0, 0, 1, 1, 1]  # a stream has room for any number


def test_one_dataset_can_be_iterated_several_times_at_once():
    ds = M.range(5).to_iter_dataset().map(Double())
    assert list(zip(ds, ds, strict=True)) == [(2 * i, 2 * i) for i in range(5)]
    assert list(ds) == list(ds)
