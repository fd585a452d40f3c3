"""Arguments that are True or False: a string, of which "False" would be true, is refused everywhere."""

import numpy as np
import pytest

import grain
import grain.python
from grain import checkpoint
from grain import experimental as ex

R = grain.MapDataset.range(6)
S = R.to_iter_dataset()
LOADER = grain.load(range(6), num_epochs=1)
PACKED = {"length_struct": {"x": 4}, "num_packing_bins": 2}

FLAGS = {
    "load shuffle": lambda flag: grain.load(range(6), shuffle=flag, seed=1),
    "load drop_remainder": lambda flag: grain.load(range(6), drop_remainder=flag),
    "IndexSampler shuffle": lambda flag: grain.IndexSampler(6, grain.NoSharding(), flag, 1, 1),
    "DataLoader enable_profiling": lambda flag: grain.DataLoader(
        data_source=range(6), sampler=grain.SequentialSampler(6), enable_profiling=flag
    ),
    "DataLoaderIterator validate_state": lambda flag: grain.DataLoaderIterator(LOADER, None, flag),
    "MultiprocessingOptions enable_profiling": lambda flag: grain.MultiprocessingOptions(enable_profiling=flag),
    "BatchOperation drop_remainder": lambda flag: grain.python.BatchOperation(2, drop_remainder=flag),
    "ShardOptions drop_remainder": lambda flag: grain.sharding.ShardOptions(0, 2, flag),
    "repeat reseed_each_epoch": lambda flag: R.repeat(2, reseed_each_epoch=flag),
    "to_iter_dataset allow_nones": lambda flag: R.to_iter_dataset(allow_nones=flag),
    "mp_prefetch sequential_slice": lambda flag: S.mp_prefetch(sequential_slice=flag),
    "multithread_prefetch sequential_slice": lambda flag: ex.multithread_prefetch(S, 1, 1, sequential_slice=flag),
    "set_slice sequential_slice": lambda flag: ex.InterleaveIterDataset([S], cycle_length=1).set_slice(
        slice(1), sequential_slice=flag
    ),
    "zip strict": lambda flag: ex.ZipIterDataset([S], strict=flag),
    "rebatch drop_remainder": lambda flag: ex.RebatchIterDataset(S, 2, drop_remainder=flag),
    "first fit shuffle_bins": lambda flag: ex.FirstFitPackIterDataset(S, shuffle_bins=flag, **PACKED),
    "best fit shuffle_bins": lambda flag: ex.BestFitPackIterDataset(S, shuffle_bins=flag, **PACKED),
    "concat then split split_full_length_features": lambda flag: ex.ConcatThenSplitIterDataset(
        S, length_struct={"x": 4}, split_full_length_features=flag
    ),
    "get_element_spec infer": lambda flag: ex.get_element_spec(R, infer=flag),
    "TFRecordDataSource verify": lambda flag: grain.sources.TFRecordDataSource(__file__, verify=flag),
    "CheckpointRestore allow_changes": lambda flag: checkpoint.CheckpointRestore(iter(S), allow_changes=flag),
}


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize("value", ["False", "abc", None, 2, np.array([True, False])], ids=repr)
def test_what_is_neither_true_nor_false_is_refused(name, value):
    with pytest.raises(TypeError, match=f"^{name.split()[-1]} must be True or False, got "):
        FLAGS[name](value)


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize("value", [False, np.False_, 0, True, np.True_, 1], ids=repr)
def test_a_flag_may_be_of_numpy(name, value):
    FLAGS[name](value)


def test_restoring_refuses_a_flag_in_words(tmp_path):
    checkpoint.save(tmp_path / "data.json", iter(S))
    with pytest.raises(TypeError, match="allow_changes must be True or False, got 'False'"):
        checkpoint.restore(tmp_path / "data.json", iter(S), allow_changes="False")
