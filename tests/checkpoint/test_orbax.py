"""Iterators beside the model, in Orbax's managers and checkpointers, the older ones and the newer."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import grain
from grain.checkpoint import CheckpointError

ocp = pytest.importorskip("orbax.checkpoint")
pytestmark = pytest.mark.filterwarnings("default")  # of Orbax and what it imports


def pipeline(seed=1, workers=0):
    ds = grain.MapDataset.range(100).shuffle(seed=seed).map(lambda x: x * 2).to_iter_dataset().batch(4)
    return ds.mp_prefetch(grain.MultiprocessingOptions(num_workers=workers))


def advanced(ds, count=3):
    it = iter(ds)
    for _ in range(count):
        next(it)
    return it


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_manager_saves_and_restores_an_iterator_alone(tmp_path, asynchronous):
    options = ocp.CheckpointManagerOptions(enable_async_checkpointing=asynchronous)
    it = advanced(pipeline())
    with ocp.CheckpointManager(tmp_path, options=options) as manager:
        manager.save(7, args=grain.checkpoint.CheckpointSave(it))
        expected = next(it).tolist()
        manager.wait_until_finished()
    with ocp.CheckpointManager(tmp_path, options=options) as manager:
        again = iter(pipeline())
        assert manager.restore(7, args=grain.checkpoint.CheckpointRestore(again)) is again
    assert next(again).tolist() == expected


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_iterator_is_saved_beside_the_model(tmp_path, asynchronous):
    options = ocp.CheckpointManagerOptions(enable_async_checkpointing=asynchronous, max_to_keep=2)
    params = {"w": np.arange(3.0)}
    it = advanced(pipeline())
    states = {}
    with ocp.CheckpointManager(tmp_path, options=options) as manager:
        for step in range(4):
            args = ocp.args.Composite(model=ocp.args.StandardSave(params), data=grain.checkpoint.CheckpointSave(it))
            manager.save(step, args=args)
            states[step] = it.get_state()
            next(it)
        manager.wait_until_finished()
        assert list(manager.all_steps()) == [2, 3]
    assert (tmp_path / "2" / "data" / "process_0-of-1.json").exists()
    with ocp.CheckpointManager(tmp_path, options=options) as manager:
        again = iter(pipeline())
        restored = manager.restore(
            manager.latest_step(),
            args=ocp.args.Composite(
                model=ocp.args.StandardRestore(params), data=grain.checkpoint.CheckpointRestore(again)
            ),
        )
    assert restored["data"] is again
    assert again.get_state() == states[3]
    np.testing.assert_array_equal(restored["model"]["w"], params["w"])


def test_a_checkpoint_taken_with_workers_resumes_with_none(tmp_path):
    checkpointer = ocp.Checkpointer(grain.checkpoint.CheckpointHandler())
    with advanced(pipeline(workers=2)) as it:
        checkpointer.save(tmp_path / "data", args=grain.checkpoint.CheckpointSave(it))
        expected = next(it).tolist()
    again = iter(pipeline())
    checkpointer.restore(tmp_path / "data", args=grain.checkpoint.CheckpointRestore(again))
    assert next(again).tolist() == expected


def test_a_changed_pipeline_is_refused_unless_allowed(tmp_path):
    checkpointer = ocp.Checkpointer(grain.checkpoint.OrbaxCheckpointHandler())
    checkpointer.save(tmp_path / "data", args=grain.checkpoint.CheckpointSave(advanced(pipeline())))
    changed = iter(pipeline(seed=2))
    with pytest.raises(CheckpointError, match=r"seed=1.*seed=2"):
        checkpointer.restore(tmp_path / "data", args=grain.checkpoint.CheckpointRestore(changed))
    checkpointer.restore(tmp_path / "data", args=grain.checkpoint.CheckpointRestore(changed, allow_changes=True))
    assert changed.get_state() == {"next_index": 12}


def test_the_newer_api_saves_and_loads_iterators_themselves(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        v1 = pytest.importorskip("orbax.checkpoint.experimental.v1")
    params = {"w": np.arange(3.0)}
    it = advanced(pipeline())
    v1.save_checkpointables(tmp_path / "0", {"model": params, "data": it})
    response = v1.save_checkpointables_async(tmp_path / "1", {"model": params, "data": it})
    expected = next(it).tolist()
    response.result()
    for step in ("0", "1"):
        again = iter(pipeline())
        loaded = v1.load_checkpointables(tmp_path / step, {"model": params, "data": again})
        assert loaded["data"] is again
        assert next(again).tolist() == expected


def test_another_number_of_processes_is_refused_unless_the_state_is_shared(tmp_path):
    from grain._src.checkpoint import processes
    from grain._src.checkpoint.snapshot import take

    records = grain.MapDataset.range(100)
    (tmp_path / "process_0-of-2.json").write_bytes(take(advanced(pipeline())))
    with pytest.raises(CheckpointError, match="another number of processes"):
        processes.load(tmp_path, iter(pipeline()))
    elastic = grain.experimental.ElasticIterator(records, 4, grain.sharding.ShardOptions(0, 2))
    (tmp_path / "process_0-of-2.json").write_bytes(take(advanced(elastic)))
    alone = grain.experimental.ElasticIterator(records, 6, grain.sharding.NoSharding())
    processes.load(tmp_path, iter(alone))
    assert next(alone).tolist() == [12, 13, 14, 15, 16, 17]


def test_without_orbax_plain_files_work_and_the_rest_says_what_to_install():
    script = """
import sys
sys.modules["orbax"] = sys.modules["orbax.checkpoint"] = None
import grain.checkpoint
grain.checkpoint.save, grain.checkpoint.restore
try:
    grain.checkpoint.CheckpointSave
except ImportError as error:
    assert "pip install orbax-checkpoint." in str(error), error
else:
    raise AssertionError
try:
    grain.checkpoint.Nothing
except AttributeError:
    pass
assert "jax" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)
