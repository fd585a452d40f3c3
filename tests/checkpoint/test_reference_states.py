"""States and checkpoint files of the original library, with and without its worker processes."""

import json

import pytest

import grain
from grain.checkpoint import CheckpointError, restore


def workers(*states):
    return {
        "next_index_in_cycle": 0,
        "next_index_in_datasets": len(states),
        "iterators_in_use_indices": list(range(len(states))),
        "iterators_in_use_states": list(states),
        "exhausted": [0] * len(states),
        "future_states": {},
    }


def at(*counts):
    return workers(*({"next_index": count} for count in counts))


def pipeline(num_workers=0):
    ds = grain.MapDataset.range(100).to_iter_dataset().batch(2)
    return ds.mp_prefetch(grain.MultiprocessingOptions(num_workers=num_workers))


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize(("counts", "position"), [((0, 0), 0), ((2, 1), 3), ((4, 4), 8), ((3, 2, 2), 7), ((5,), 5)])
def test_workers_that_have_read_a_beginning_determine_a_position(num_workers, counts, position):
    with iter(pipeline(num_workers)) as it:
        it.set_state(at(*counts))
        assert it.get_state() == {"next_index": position}
        assert next(it).tolist() == [position, position + 1]


def test_a_thread_that_works_ahead_says_the_position_in_its_own_words():
    with iter(grain.experimental.ThreadPrefetchIterDataset(pipeline(), prefetch_buffer_size=2)) as it:
        it.set_state(at(3, 2, 2))
        assert it.get_state() == {"next_index": 7}
        assert next(it).tolist() == [7, 8]


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("counts", [(4, 2), (1, 2), (2, 1, 2)])
def test_workers_that_have_read_with_gaps_are_refused_with_the_reason(num_workers, counts):
    with iter(pipeline(num_workers)) as it:
        next(it)
        with pytest.raises(ValueError, match="no one position"):
            it.set_state(at(*counts))
        assert it.get_state() == {"next_index": 2}


@pytest.mark.parametrize("num_workers", [0, 2])
def test_numbered_steps_of_workers_are_numbered_together(tmp_path, num_workers):
    ds = grain.MapDataset.range(20).to_iter_dataset().random_map(lambda x, rng: (x, int(rng.integers(1000))), seed=1)
    expected = list(ds)
    own = [{"parent": {"next_index": count}, "index_for_rng": count} for count in (3, 2)]
    (tmp_path / "process_0-of-1.json").write_text(json.dumps(workers(*own)))
    with iter(ds.mp_prefetch(grain.MultiprocessingOptions(num_workers=num_workers))) as it:
        assert list(restore(tmp_path / "process_0-of-1.json", it)) == expected[5:]


def test_steps_that_each_worker_ran_on_its_own_are_refused(tmp_path):
    path = tmp_path / "process_0-of-1.json"
    path.write_text(json.dumps(workers(*[{"parents": [{"next_index": 1}], "index": 1, "stop": False}] * 2)))
    with pytest.raises(CheckpointError, match="in each worker on its own"):
        restore(path, iter(pipeline()))


@pytest.mark.parametrize(
    ("ds", "state", "expected"),
    [
        (grain.MapDataset.range(10).to_iter_dataset(), {"next_index": 3}, 3),
        (grain.MapDataset.range(10).to_iter_dataset().map(lambda x: x * 2), {"next_index": 3}, 6),
        (
            grain.MapDataset.range(10).to_iter_dataset().map_with_index(lambda i, x: (i, x)),
            {"parent": {"next_index": 3}, "counter": 3},
            (3, 3),
        ),
        (
            grain.experimental.ElasticIterator(grain.MapDataset.range(10), 2, grain.sharding.ShardOptions(1, 2)),
            {"global_next_index": 4},
            5,
        ),
    ],
)
def test_files_that_hold_a_bare_state_are_restored(tmp_path, ds, state, expected):
    path = tmp_path / "process_0-of-1.json"
    path.write_text(json.dumps(state, indent=4))
    assert next(restore(path, iter(ds))) == expected


class Once(grain.experimental.FlatMapTransform):
    max_fan_out = 1

    def flat_map(self, element):
        return [element]


@pytest.mark.parametrize("workers", [0, 1])
def test_the_state_at_the_end_of_a_flat_map_is_its_end(workers):
    ds = grain.experimental.FlatMapIterDataset(grain.MapDataset.range(3).to_iter_dataset(), Once())
    with iter(ds.mp_prefetch(grain.MultiprocessingOptions(workers))) as it:
        it.set_state({"parent": {"next_index": 3}, "next_index_in_buffer": 1})
        assert list(it) == []
