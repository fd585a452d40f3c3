"""With any number of workers a pipeline gives the elements, errors and states that it gives inline."""

import itertools

import numpy as np
import pytest

import grain
from grain._src.engine.processes import spread

INLINE = grain.ReadOptions(0, 0)


def fail_at_13(x):
    if x == 13:
        raise ValueError("thirteen")
    return x


def fail_on_batch_with_13(batch):
    return np.array([fail_at_13(x) for x in batch.tolist()])


class Repeats(grain.transforms.FlatMap):
    max_fan_out = 3

    def flat_map(self, element):
        return [element] * (element % 3)


class CountingIterator(grain.DatasetIterator):
    def __init__(self):
        super().__init__()
        self.count = 0

    def __next__(self):
        if self.count >= 30:
            raise StopIteration
        self.count += 1
        return fail_at_13(self.count)

    def get_state(self):
        return {"count": self.count}

    def set_state(self, state):
        self.count = state["count"]


class Counting(grain.IterDataset):
    def __iter__(self):
        return CountingIterator()


class DoublingIterator(grain.DatasetIterator):
    def __next__(self):
        return next(self._parent) * 2

    def get_state(self):
        return self._parent.get_state()

    def set_state(self, state):
        self._parent.set_state(state)


class Doubling(grain.IterDataset):
    def __iter__(self):
        return DoublingIterator(self._parent.__iter__())


def noise(x, rng):
    return x, int(rng.integers(1000))


def shuffled():
    return grain.MapDataset.range(40).shuffle(seed=3)


def stream(ds=None):
    return (ds if ds is not None else shuffled()).to_iter_dataset(INLINE)


def survivors():
    return stream().filter(lambda x: x % 5).batch(2)


def flat():
    return grain.experimental.FlatMapIterDataset(stream(), Repeats())


PIPELINES = {
    "map": lambda: stream(shuffled().map(lambda x: x + 1)),
    "random map with epochs": lambda: stream(shuffled().random_map(noise, seed=1).repeat(2)),
    "batches with random access": lambda: stream(shuffled().batch(3)),
    "batches of a stream": lambda: stream().map(lambda x: x + 1).batch(3),
    "batches, then random": lambda: stream().batch(3).random_map(noise, seed=4),
    "full batches only, then random": lambda: stream().batch(3, drop_remainder=True).random_map(noise, seed=4),
    "holes, filter, random, batch": lambda: (
        stream(shuffled().filter(lambda x: x % 3)).filter(lambda x: x % 2).random_map(noise, seed=4).batch(4)
    ),
    "numbered": lambda: stream().map_with_index(lambda i, x: (i, x)),
    "numbered after a filter": lambda: (
        stream().filter(lambda x: x % 2).map_with_index(lambda i, x: (i, x)).random_map(noise, seed=4)
    ),
    "holes nobody announced, then batches": lambda: (
        stream(shuffled().map(lambda x: None if x in (20, 30) else x)).batch(4).map_with_index(lambda i, x: (i, x))
    ),
    "nones allowed": lambda: shuffled().filter(lambda x: x % 2).to_iter_dataset(INLINE, allow_nones=True),
    "flat map": lambda: flat().map(lambda x: -x),
    "flat map, then random": lambda: flat().random_map(noise, seed=4),
    "error in a source's map, then batches": lambda: stream(shuffled().map(fail_at_13)).batch(3),
    "error in a stream's map, then batches": lambda: stream().map(fail_at_13).batch(3),
    "error after batches": lambda: stream().batch(3).map(fail_on_batch_with_13).map_with_index(lambda i, x: (i, x)),
    "error before a flat map": lambda: grain.experimental.FlatMapIterDataset(stream().map(fail_at_13), Repeats()),
    "mixture": lambda: grain.IterDataset.mix([stream().map(fail_at_13), stream()], [1, 2]),
    "steps after a merge": lambda: (
        survivors().map(lambda b: b + 1).random_map(lambda b, r: noise(b.tolist(), r), seed=3)
    ),
    "numbering among steps after a merge": lambda: (
        survivors()
        .map_with_index(lambda i, b: (i, b.tolist()))
        .filter(lambda pair: pair[0] % 3)
        .random_map(noise, seed=3)
        .map_with_index(lambda i, x: (i, x))
    ),
    "error in steps after a merge": lambda: (
        survivors().map(fail_on_batch_with_13).map_with_index(lambda i, b: (i, b.tolist()))
    ),
    "error above steps after a merge": lambda: (
        stream().filter(lambda x: x % 5).map(fail_at_13).batch(2).map_with_index(lambda i, b: (i, b.tolist()))
    ),
    "a user's own stream": lambda: Counting(),
    "steps on a user's own stream": lambda: Counting().map(lambda x: x + 1).random_map(noise, seed=1),
    "a user's own step": lambda: Doubling(stream(shuffled().map(fail_at_13))).map(lambda x: x + 1),
}


def plain(x):
    return x.tolist() if isinstance(x, np.ndarray) else tuple(map(plain, x)) if isinstance(x, tuple) else x


def trace(iterator, most=80):
    """What happens at each `next`, with the state after it."""
    events = []
    for _ in range(most):
        try:
            event = ("element", plain(next(iterator)))
        except StopIteration:
            event = ("end", None)
        except ValueError as error:
            event = ("error", str(error))
        events.append((*event, iterator.get_state()))
        if event[0] == "end":
            break
    return events


def run(dataset):
    with dataset.__iter__() as iterator:
        return trace(iterator)


def with_workers(dataset, count):
    return dataset.mp_prefetch(grain.MultiprocessingOptions(count))


@pytest.mark.parametrize("name", PIPELINES)
def test_two_workers_give_what_none_gives(name, monkeypatch):
    monkeypatch.setattr(spread, "_SECONDS_A_TRIP", -1.0)  # spread steps after a merge, however cheap
    dataset = PIPELINES[name]()
    assert run(with_workers(dataset, 2)) == run(dataset)


@pytest.mark.parametrize("name", ["holes, filter, random, batch", "error in a stream's map, then batches", "mixture"])
@pytest.mark.parametrize("count", [1, 5])
def test_the_number_of_workers_changes_nothing(name, count):
    dataset = PIPELINES[name]()
    assert run(with_workers(dataset, count)) == run(dataset)


RESUMED = [
    "batches, then random",
    "holes, filter, random, batch",
    "holes nobody announced, then batches",
    "flat map",
    "error in a stream's map, then batches",
    "mixture",
    "numbering among steps after a merge",
    "steps on a user's own stream",
]


@pytest.mark.parametrize("name", RESUMED)
def test_a_state_taken_inline_resumes_with_workers_and_back(name, monkeypatch):
    monkeypatch.setattr(spread, "_SECONDS_A_TRIP", -1.0)
    dataset = PIPELINES[name]()
    events = run(dataset)
    with with_workers(dataset, 2).__iter__() as spread_out, dataset.__iter__() as inline:
        for at in range(0, len(events) - 6, max(1, len(events) // 5)):
            spread_out.set_state(events[at][-1])
            assert trace(spread_out, 3) == events[at + 1 : at + 4]
            inline.set_state(spread_out.get_state())
            assert trace(inline, 2) == events[at + 4 : at + 6]


def test_cheap_steps_after_a_merge_stay_in_the_training_process():
    dataset = survivors().map(lambda b: b + 1)
    with with_workers(dataset, 1).__iter__() as iterator:
        list(itertools.islice(iterator, 10))
        assert iterator._parent._number is None
