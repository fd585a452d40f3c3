"""The older operations: iterators of records."""

import itertools

import numpy as np
import pytest

import grain
import grain.python as pygrain


def loader(*operations, records=6):
    sampler = grain.IndexSampler(records, num_epochs=1, seed=7)
    return grain.DataLoader(data_source=list(range(records)), sampler=sampler, operations=operations)


def plain(elements):
    return [np.asarray(element).tolist() for element in elements]


def describe(records):
    """An operation that shows what travels with an element."""
    for record in records:
        yield grain.Record(record.metadata, (record.metadata.index, record.metadata.record_key, record.data))


OLD = {
    "map": (pygrain.MapOperation(lambda x: x + 1), [1, 2, 3, 4, 5, 6]),
    "filter": (pygrain.FilterOperation(lambda x: x % 2 == 1), [1, 3, 5]),
    "batch": (pygrain.BatchOperation(4), [[0, 1, 2, 3], [4, 5]]),
    "batch without remainder": (pygrain.BatchOperation(4, drop_remainder=True), [[0, 1, 2, 3]]),
    "batch of one's own": (pygrain.BatchOperation(4, batch_fn=sum), [6, 9]),
    "random map": (pygrain.RandomMapOperation(lambda x, rng: x * 1000 + rng.integers(1000)), None),
}


@pytest.mark.parametrize("name", OLD)
def test_in_a_loader_and_called_by_hand_they_give_the_same(name):
    operation, expected = OLD[name]
    by_hand = plain(record.data for record in operation(_records()))
    assert plain(loader(operation)) == by_hand
    assert expected is None or by_hand == expected


def _records():
    sampler = grain.IndexSampler(6, num_epochs=1, seed=7)
    return (grain.Record(sampler[index], index) for index in range(6))


def test_an_operation_sees_index_and_key():
    assert list(loader(describe, records=2)) == [(0, 0, 0), (1, 1, 1)]


def test_a_batch_has_the_index_of_its_last_record_and_no_key():
    batches = list(loader(grain.transforms.Batch(2), describe, records=5))
    assert [(index, key) for index, key, _ in batches] == [(1, None), (3, None), (4, None)]


def test_outputs_of_a_flat_map_are_numbered_apart():
    class Twice(grain.transforms.FlatMap):
        max_fan_out = 2

        def flat_map(self, element):
            return [element, -element]

    assert list(loader(Twice(), describe, records=2)) == [(0, None, 0), (1, None, 0), (2, None, 1), (3, None, -1)]


def test_a_one_to_one_operation_adds_nothing_to_the_state():
    iterator, bare = iter(loader(describe)), iter(loader())
    next(iterator), next(bare)
    assert iterator.get_state() == bare.get_state()


def test_an_operation_that_drops_records_resumes_exactly():
    def keep_odd(records):
        return (record for record in records if record.data % 2 == 1)

    iterator = iter(loader(keep_odd))
    assert list(itertools.islice(iterator, 2)) == [1, 3]
    other = iter(loader(keep_odd))
    other.set_state(iterator.get_state())
    assert list(other) == list(iterator) == [5]


def test_a_failing_operation_goes_on_after_the_record_that_failed():
    def picky(records):
        for record in records:
            if record.data == 2:
                raise KeyError("not this one")
            yield record

    iterator = iter(loader(picky))
    assert [next(iterator), next(iterator)] == [0, 1]
    with pytest.raises(KeyError):
        next(iterator)
    assert list(iterator) == [3, 4, 5]


def test_a_function_of_elements_is_told_apart():
    with pytest.raises(TypeError, match=r"yield grain.Record, got int. For a function of elements use"):
        list(loader(lambda records: (record.data for record in records)))


def test_batch_size_is_checked():
    with pytest.raises(ValueError, match="batch_size must be a positive integer, got 0"):
        pygrain.BatchOperation(0)


def test_packing_resumes_at_the_record_that_begins_the_next_batch():
    documents = [{"x": np.arange(length)} for length in (3, 4, 2, 5, 1, 6, 2, 3, 4, 8, 7)]
    packing = grain.experimental.PackAndBatchOperation(length_struct={"x": 8}, batch_size=2)

    def start():
        sampler = grain.IndexSampler(len(documents), num_epochs=2, seed=7)
        return iter(grain.DataLoader(data_source=documents, sampler=sampler, operations=[packing]))

    iterator, batches, states = start(), [], []
    for values, _, _ in iterator:
        batches.append(values["x"].tolist())
        states.append(iterator.get_state())
    assert len(batches) > 4
    for number, state in enumerate(states):
        resumed = start()
        resumed.set_state(state)
        assert b"records_given" not in state
        assert [values["x"].tolist() for values, _, _ in resumed] == batches[number + 1 :]


def test_a_random_operation_without_a_seed_says_what_is_missing():
    loader = pygrain.DataLoader(
        data_source=[1, 2],
        sampler=pygrain.SequentialSampler(2),
        operations=[pygrain.RandomMapOperation(lambda x, rng: rng.random())],
    )
    with pytest.raises(ValueError, match="if it is given a seed"):
        next(iter(loader))
