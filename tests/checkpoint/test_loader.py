"""Loaders in checkpoint files and in Orbax."""

import json

import pytest

import grain
from grain.checkpoint import CheckpointError, restore, save


class Double(grain.transforms.Map):
    def map(self, element):
        return 2 * element


def loader(seed=3, workers=0, batch=2):
    sampler = grain.samplers.IndexSampler(num_records=50, num_epochs=2, shuffle=True, seed=seed)
    return grain.DataLoader(
        data_source=grain.sources.RangeDataSource(0, 50, 1),
        sampler=sampler,
        operations=[Double(), grain.transforms.Batch(batch)],
        worker_count=workers,
    )


def advanced(loader, count=3):
    it = iter(loader)
    for _ in range(count):
        next(it)
    return it


def test_a_loader_goes_on_with_another_number_of_workers(tmp_path):
    with advanced(loader(workers=2)) as it:
        save(tmp_path / "data.json", it)
        expected = [batch.tolist() for batch in it]
    assert [batch.tolist() for batch in restore(tmp_path / "data.json", iter(loader()))] == expected


def test_a_changed_loader_is_refused_in_words(tmp_path):
    save(tmp_path / "data.json", advanced(loader()))
    it = iter(loader(seed=4))
    with pytest.raises(CheckpointError, match=r"seed=3.*became.*seed=4"):
        restore(tmp_path / "data.json", it)
    with pytest.raises(CheckpointError, match=r"batch_size=2\) became batch\(batch_size=4"):
        restore(tmp_path / "data.json", iter(loader(batch=4)))
    assert it.get_state() == iter(loader(seed=4)).get_state()


def test_a_file_of_the_original_library_is_restored(tmp_path):
    state = {
        "version": 2,
        "last_seen_indices": {"0": 5},
        "last_worker_index": -1,
        "worker_count": 0,
        "sampler": "IndexSampler(num_records=50, shard_options=NoSharding(shard_index=0, shard_count=1, "
        "drop_remainder=False), shuffle=True, num_epochs=2, seed=3)",
        "data_source": "RangeDataSource(start=0, stop=50, step=1)",
    }
    path = tmp_path / "process_0-of-1.json"
    path.write_text(json.dumps(state, indent=4))
    assert next(restore(path, iter(loader()))).tolist() == next(advanced(loader())).tolist()


@pytest.mark.filterwarnings("default")
def test_a_loader_is_saved_with_orbax(tmp_path):
    ocp = pytest.importorskip("orbax.checkpoint")
    it = advanced(loader())
    with ocp.CheckpointManager(tmp_path) as manager:
        manager.save(0, args=ocp.args.Composite(data=grain.checkpoint.CheckpointSave(it)))
        manager.wait_until_finished()
        again = iter(loader())
        manager.restore(0, args=ocp.args.Composite(data=grain.checkpoint.CheckpointRestore(again)))
    assert next(again).tolist() == next(it).tolist()


@pytest.mark.filterwarnings("default")
def test_a_loader_saves_itself_in_the_newer_api(tmp_path):
    v1 = pytest.importorskip("orbax.checkpoint.experimental.v1")
    it = advanced(loader())
    v1.save_checkpointables(tmp_path / "0", {"data": it})
    again = iter(loader())
    v1.load_checkpointables(tmp_path / "0", {"data": again})
    assert next(again).tolist() == next(it).tolist()
