"""Signatures: everything that can be written for the reference can be written here."""

import importlib
import inspect

import pytest

# As in the reference, release 0.2.18; `...` stands for any default.
SIGNATURES = """
grain.DataLoader(*, data_source, sampler, operations=(), worker_count=0, worker_buffer_size=1, shard_options=None, read_options=None, enable_profiling=False)
grain.DataLoaderIterator.get_state(self)
grain.DataLoaderIterator.set_state(self, state)
grain.DataLoaderIterator.start_prefetch(self)
grain.DataLoaderIterator.save(self, directory)
grain.DataLoaderIterator.load(self, directory)
grain.DatasetIterator.__init__(self, parents=())
grain.DatasetIterator.close(self)
grain.DatasetIterator.get_state(self)
grain.DatasetIterator.set_state(self, state)
grain.DatasetIterator.start_prefetch(self)
grain.DatasetIterator.save(self, directory)
grain.DatasetIterator.load(self, directory)
grain.IterDataset.__init__(self, parents=())
grain.IterDataset.apply(self, transformations)
grain.IterDataset.batch(self, batch_size, *, drop_remainder=False, batch_fn=None)
grain.IterDataset.filter(self, transform)
grain.IterDataset.map(self, transform)
grain.IterDataset.map_with_index(self, transform)
grain.IterDataset.mp_prefetch(self, options=None, worker_init_fn=None, sequential_slice=False)
grain.IterDataset.pipe(self, func, /, *args, **kwargs)
grain.IterDataset.prefetch(self, multiprocessing_options)
grain.IterDataset.random_map(self, transform, *, seed=None)
grain.IterDataset.seed(self, seed)
grain.IterDataset.mix(datasets, weights=None)
grain.MapDataset.__init__(self, parents=())
grain.MapDataset.apply(self, transformations)
grain.MapDataset.batch(self, batch_size, *, drop_remainder=False, batch_fn=None)
grain.MapDataset.filter(self, transform)
grain.MapDataset.map(self, transform)
grain.MapDataset.map_with_index(self, transform)
grain.MapDataset.pipe(self, func, /, *args, **kwargs)
grain.MapDataset.random_map(self, transform, *, seed=None)
grain.MapDataset.repeat(self, num_epochs=None, *, reseed_each_epoch=True)
grain.MapDataset.seed(self, seed)
grain.MapDataset.shuffle(self, seed=None)
grain.MapDataset.slice(self, sl)
grain.MapDataset.to_iter_dataset(self, read_options=None, *, allow_nones=False)
grain.MapDataset.source(source)
grain.MapDataset.range(start, stop=None, step=1)
grain.MapDataset.mix(datasets, weights=None)
grain.MapDataset.select_from_datasets(datasets, selection_map)
grain.MapDataset.concatenate(datasets)
grain.MultiprocessingOptions(num_workers=0, per_worker_buffer_size=1, enable_profiling=False)
grain.ReadOptions(num_threads=16, prefetch_buffer_size=500)
grain.Record(metadata, data)
grain.RecordMetadata(index, record_key=None, rng=None)
grain.RecordMetadata.remove_record_key(self)
grain.load(source, *, num_epochs=None, shuffle=False, seed=None, shard_options=..., transformations=(), batch_size=None, drop_remainder=False, worker_count=0, read_options=None)
grain.transforms.Batch(batch_size, drop_remainder=False, batch_fn=None)
grain.transforms.Map.map(self, element)
grain.transforms.RandomMap.random_map(self, element, rng)
grain.transforms.TfRandomMap.np_random_map(self, element, rng)
grain.transforms.MapWithIndex.map_with_index(self, index, element)
grain.transforms.Filter.filter(self, element)
grain.transforms.FlatMap.flat_map(self, element)
grain.sources.ArrayRecordDataSource(paths, reader_options=None)
grain.sources.RangeDataSource(start, stop, step)
grain.sources.SharedMemoryDataSource(elements=None, *, name=None)
grain.sources.SharedMemoryDataSource.unlink(self)
grain.samplers.IndexSampler(num_records, shard_options=..., shuffle=False, num_epochs=None, seed=None)
grain.samplers.SequentialSampler(num_records, shard_options=..., seed=None)
grain.sharding.NoSharding()
grain.sharding.ShardByJaxProcess(drop_remainder=False)
grain.sharding.ShardOptions(shard_index, shard_count, drop_remainder=False)
grain.checkpoint.CheckpointHandler()
grain.checkpoint.CheckpointHandler.restore(self, directory, item=None, args=None)
grain.checkpoint.CheckpointHandler.finalize(self, directory)
grain.checkpoint.CheckpointHandler.metadata(self, directory)
grain.checkpoint.CheckpointHandler.structure(self, directory)
grain.checkpoint.CheckpointHandler.typestr()
grain.checkpoint.CheckpointRestore(item)
grain.checkpoint.CheckpointSave(item)
grain.multiprocessing.SharedMemoryArray(shape, dtype=...)
grain.multiprocessing.SharedMemoryArray.close_shm_async(shm, unlink)
grain.multiprocessing.SharedMemoryArray.enable_async_del(num_threads=1, max_outstanding_requests=50)
grain.multiprocessing.SharedMemoryArray.from_metadata(metadata)
grain.multiprocessing.SharedMemoryArray.from_shared_memory(shm, shape, dtype)
grain.multiprocessing.SharedMemoryArray.unlink_on_del(self)
grain.multiprocessing.SharedMemoryArrayMetadata(name, shape, dtype)
grain.multiprocessing.SharedMemoryArrayMetadata.close_and_unlink_shm(self)
grain.experimental.BestFitPackIterDataset(parent, *, length_struct, num_packing_bins, seed=0, shuffle_bins=True, shuffle_bins_group_by_feature=None, meta_features=(), pack_alignment_struct=None, padding_struct=None, max_sequences_per_bin=None)
grain.experimental.FirstFitPackIterDataset(parent, *, length_struct, num_packing_bins, seed=0, shuffle_bins=True, shuffle_bins_group_by_feature=None, meta_features=(), pack_alignment_struct=None, padding_struct=None, max_sequences_per_bin=None)
grain.experimental.CacheIterDataset(parent)
grain.experimental.ConcatThenSplitIterDataset(parent, *, length_struct, meta_features=(), split_full_length_features=True, bos_handling=..., bos_features=(), bos_token_id=None)
grain.experimental.DatasetOptions(*, filter_warn_threshold_ratio=..., filter_raise_threshold_ratio=..., execution_tracking_mode=..., min_shm_size=...)
grain.experimental.DatasetOptions.merge(self, other)
grain.experimental.ElasticIterator(ds, global_batch_size, shard_options, *, read_options=..., multiprocessing_options=None)
grain.experimental.FlatMapIterDataset(parent, transform)
grain.experimental.FlatMapMapDataset(parent, transform)
grain.experimental.InterleaveIterDataset(datasets, *, cycle_length, num_make_iter_threads=1, make_iter_buffer_size=1, iter_buffer_size=1)
grain.experimental.InterleaveIterDataset.set_slice(self, sl, sequential_slice=False)
grain.experimental.LimitIterDataset(parent, count)
grain.experimental.PackAndBatchOperation(length_struct, batch_size, max_sequences_per_bin=None)
grain.experimental.ParquetIterDataset(path, **read_kwargs)
grain.experimental.ParquetIterDataset.set_slice(self, sl, sequential_slice=False)
grain.experimental.PerformanceConfig(multiprocessing_options=None, read_options=None)
grain.experimental.RebatchIterDataset(parent, batch_size, drop_remainder=False)
grain.experimental.RepeatIterDataset(parent, num_epochs=None)
grain.experimental.RngPool(seed)
grain.experimental.RngPool.acquire_rng(self, index, *, op_seed=0)
grain.experimental.RngPool.release_rng(self, rng)
grain.experimental.TFRecordIterDataset(path)
grain.experimental.ThreadPrefetchDatasetIterator(parent, prefetch_buffer_size)
grain.experimental.ThreadPrefetchIterDataset(parent, *, prefetch_buffer_size)
grain.experimental.WindowShuffleIterDataset(parent, *, window_size, seed)
grain.experimental.WindowShuffleMapDataset(parent, *, window_size, seed)
grain.experimental.WithOptionsIterDataset(parent, options)
grain.experimental.ZipIterDataset(parents, *, strict=True)
grain.experimental.ZipMapDataset(parents)
grain.experimental.apply_transformations(ds, transformations)
grain.experimental.assert_equal_output_after_checkpoint(ds)
grain.experimental.batch_and_pad(values, *, batch_size, pad_value=0)
grain.experimental.device_put(ds, device, *, cpu_buffer_size=4, device_buffer_size=2)
grain.experimental.get_element_spec(ds)
grain.experimental.get_next_index(ds_iter)
grain.experimental.index_shuffle(index, max_index, seed, rounds)
grain.experimental.multithread_prefetch(ds, num_threads, buffer_size, sequential_slice=False)
grain.experimental.pick_performance_config(ds, *, ram_budget_mb, max_workers, max_buffer_size, samples_to_check=5)
grain.experimental.set_next_index(ds_iter, index)
grain.python.BatchOperation(batch_size, drop_remainder=False, batch_fn=None)
grain.python.FilterOperation(condition_function)
grain.python.MapOperation(map_function)
grain.python.RandomMapOperation(random_map_function)
""".strip().splitlines()


def resolve(path):
    parts = path.split(".")
    for split in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:split]))
        except ImportError:
            continue
        for name in parts[split:]:
            found = getattr(found, name)
        return found
    raise AssertionError(path)


def signature_of(path):
    found = resolve(path)
    if not isinstance(found, type):
        return inspect.signature(found)
    if issubclass(found, __import__("numpy").ndarray):
        return drop_first(inspect.signature(found.__new__))
    return inspect.signature(found)


def drop_first(signature):
    return signature.replace(parameters=list(signature.parameters.values())[1:])


@pytest.mark.parametrize("line", SIGNATURES, ids=lambda line: line.partition("(")[0])
def test_a_call_written_for_the_reference_fits(line):
    path, _, parameters = line.partition("(")
    scope = {}
    exec(f"def expected({parameters}: pass", scope)
    expected = inspect.signature(scope["expected"]).parameters
    actual = signature_of(path).parameters
    for name, parameter in expected.items():
        assert name in actual, f"{name} is missing"
        mine = actual[name]
        if parameter.kind is not parameter.KEYWORD_ONLY:
            assert mine.kind is parameter.kind, f"{name} is {mine.kind.description}"
        else:
            assert mine.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD), name
        if parameter.default is ...:
            assert mine.default is not parameter.empty, f"{name} has no default"
        elif parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            assert mine.default == parameter.default, f"{name}={mine.default!r}"
    positional = [name for name, p in expected.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert [name for name in actual if name in positional] == positional, "the order differs"
    for name, parameter in actual.items():
        if name not in expected:
            free = parameter.default is not parameter.empty or parameter.kind in (
                parameter.VAR_POSITIONAL,
                parameter.VAR_KEYWORD,
            )
            assert free, f"{name} is required here and unknown to the reference"


@pytest.mark.parametrize(
    ("cls", "base"),
    [
        ("grain.experimental.BestFitPackIterDataset", "grain.IterDataset"),
        ("grain.experimental.ZipMapDataset", "grain.MapDataset"),
        ("grain.experimental.ElasticIterator", "grain.IterDataset"),
        ("grain.experimental.ThreadPrefetchDatasetIterator", "grain.DatasetIterator"),
        ("grain.sharding.NoSharding", "grain.sharding.ShardOptions"),
        ("grain.multiprocessing.SharedMemoryArray", "numpy.ndarray"),
    ],
)
def test_classes_are_what_the_reference_makes_them(cls, base):
    assert issubclass(resolve(cls), resolve(base))


def test_properties_are_there():
    for path in ("grain.MapDataset.parents", "grain.IterDataset.parents", "grain.sources.ArrayRecordDataSource.paths"):
        assert isinstance(resolve(path), property)
    assert resolve("grain.multiprocessing.SharedMemoryArray.metadata")
    assert resolve("grain.DataLoader.multiprocessing_options")
