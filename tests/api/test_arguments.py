"""Bad arguments fail where they are given, with the argument, the value and what is allowed."""

import numpy as np
import pytest

import grain
import grain.python
from grain import experimental as ex
from grain.experimental import DatasetOptions, FlatMapMapDataset, WithOptionsIterDataset
from grain.transforms import DatasetSelectionMap

M, I = grain.MapDataset, grain.IterDataset  # noqa: E741
R = M.range(6)
S = R.to_iter_dataset()


NONE = grain.sharding.NoSharding()


class Odd(grain.transforms.Filter):
    def filter(self, element):
        return element % 2


def draw(x, rng):
    return rng.random()


class Far(DatasetSelectionMap):
    def __len__(self):
        return 1

    def __getitem__(self, index):
        return 5, 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: R.batch(0), ValueError, "batch_size must be a positive integer, got 0"),
        (lambda: S.batch(-1), ValueError, "batch_size must be a positive integer, got -1"),
        (lambda: R.batch(10**30), ValueError, r"batch_size must be at most 2\*\*63 - 1, got 1000"),
        (lambda: M.range(10**30), ValueError, r"stop must be between -\(2\*\*63 - 1\) and 2\*\*63 - 1, got 1000"),
        (
            lambda: M.range(-(2**62), 2**62),
            ValueError,
            r"a range must have at most 2\*\*63 - 1 elements, got range\(-46",
        ),
        (lambda: grain.RangeDataSource(0, 2**70, 1), ValueError, "stop must be between"),
        (lambda: R.batch(2, drop_remainder="False"), TypeError, "drop_remainder must be True or False, got 'False'"),
        (lambda: S.batch(2, drop_remainder=2), TypeError, "drop_remainder must be True or False, got 2"),
        (
            lambda: grain.sharding.ShardOptions(0, 2, "False"),
            TypeError,
            "drop_remainder must be True or False, got 'Fal",
        ),
        (lambda: grain.transforms.Batch(2, None), TypeError, "drop_remainder must be True or False, got None"),
        (lambda: R.batch("2"), TypeError, "batch_size must be an integer, got '2'"),
        (lambda: S.batch(None), TypeError, "batch_size must be an integer, got None"),
        (lambda: R.batch(2, batch_fn=3), TypeError, "batch_fn must be a function"),
        (lambda: R.filter(bool).batch(2), ValueError, "can not follow `MapDataset.filter`.*to_iter_dataset"),
        (lambda: R.filter(bool).map(str).shuffle(seed=1).batch(2), ValueError, "can not follow"),
        (lambda: M.mix([R, R.filter(bool)]).batch(2), ValueError, "can not follow"),
        (lambda: R.map(3), TypeError, "transform must be a function or a transformation, got 3"),
        (
            lambda: R.map(Odd()),
            TypeError,
            r"map takes a function or a .*Map, got a Filter: use `ds.filter\(…\)` or `ds.a",
        ),
        (lambda: S.filter(grain.transforms.Batch(2)), TypeError, r"got a Batch: use `ds.apply\(…\)`"),
        (lambda: R.pipe(None), TypeError, "func must be a function, got None"),
        (lambda: grain.transforms.Batch(2, batch_fn="abc"), TypeError, "batch_fn must be a function, got 'abc'"),
        (lambda: grain.python.BatchOperation(2, batch_fn=3), TypeError, "batch_fn must be a function, got 3"),
        (lambda: R.random_map(draw, seed=1)[2**70], IndexError, r"indices from 0 to 2\*\*64 - 1, got 11805916"),
        (lambda: R.random_map(draw, seed=1)[-1], IndexError, r"indices from 0 to 2\*\*64 - 1, got -1"),
        (lambda: R.random_map(draw, seed=1).batch(2)[-1], IndexError, r"indices from 0 to 2\*\*64 - 1, got -"),
        (lambda: S.filter(None), TypeError, "transform must be a function"),
        (lambda: R.random_map(lambda x, rng: x), ValueError, r"`random_map` needs a seed.*ds\.seed"),
        (lambda: S.random_map(lambda x, rng: x), ValueError, "`random_map` needs a seed"),
        (lambda: R.shuffle(), ValueError, "`shuffle` needs a seed"),
        (lambda: R.shuffle(seed=-1), ValueError, r"seed must be between 0 and 2\*\*32 - 1, got -1"),
        (lambda: R.shuffle(seed=2**32), ValueError, "seed must be between"),
        (lambda: R.shuffle(seed="a"), TypeError, "seed must be an integer, got 'a'"),
        (lambda: R.seed(-1), ValueError, "seed must be an integer of at least 0"),
        (lambda: S.seed(1.5), TypeError, "seed must be an integer, got 1.5"),
        (lambda: R.repeat(0), ValueError, "num_epochs must be a positive integer or None, got 0"),
        (lambda: R.repeat(-2), ValueError, "num_epochs must be a positive integer or None, got -2"),
        (lambda: R.repeat().repeat(), ValueError, "repeats without end already"),
        (lambda: M.mix(5), TypeError, "datasets must be a sequence of MapDatasets, got 5"),
        (lambda: M.mix([R, R], weights=5), TypeError, "weights must be a sequence of numbers, got 5"),
        (lambda: I.mix([S, S], [1, 2**2000]), ValueError, r"weights must not differ by more than .*got \[1, 1148"),
        (lambda: I.mix([S, S], [1e-300, 1e300]), ValueError, "weights must not differ by more than a float can say"),
        (lambda: M.mix([R, R], weights=[1, "x"]), TypeError, "each of weights must be a number, got 'x'"),
        (lambda: M.select_from_datasets([R], 5), TypeError, "selection_map must have `__len__`"),
        (lambda: M.select_from_datasets([R], "abc"), TypeError, r"must give \(dataset, index\).*got the text 'abc'"),
        (lambda: M.select_from_datasets([R], ["a"])[0], TypeError, r"list\[0\] must be \(dataset, index\).*got 'a'"),
        (lambda: grain.IterDataset.mix(5), TypeError, "datasets must be a sequence of IterDatasets, got 5"),
        (lambda: grain.experimental.ZipIterDataset(5), TypeError, "parents must be a sequence of datasets, got 5"),
        (lambda: grain.MultiprocessingOptions(worker_timeout="x"), TypeError, "worker_timeout must be a number"),
        (lambda: DatasetOptions(filter_warn_threshold_ratio="x"), TypeError, "ratio must be a number, got 'x'"),
        (lambda: grain.experimental.index_shuffle(1.5, 10, 1, 4), TypeError, "index must be an integer, got 1.5"),
        (
            lambda: grain.DataLoader(data_source=[1], sampler=grain.SequentialSampler(1), operations=5),
            TypeError,
            "operations must be a sequence of transformations, got 5",
        ),
        (lambda: grain.MapDataset.concatenate([R, R.repeat()]), ValueError, "cannot be concatenated"),
        (lambda: grain.MapDataset.concatenate([R.repeat()]), ValueError, "cannot be concatenated"),
        (
            lambda: grain.experimental.ZipMapDataset([R, R.filter(bool)]).map(str).batch(2),
            ValueError,
            "can not follow",
        ),
        (lambda: M.range(1, 5, 0), ValueError, "step must not be 0"),
        (lambda: M.range("a"), TypeError, "stop must be an integer, got 'a'"),
        (lambda: M.range(1.0, 3), TypeError, "start must be an integer, got 1.0"),
        (lambda: R[::0], ValueError, "slice step cannot be zero"),
        (lambda: R.slice(3), ValueError, "slice takes a slice or a sequence of indices, got int"),
        (lambda: R.slice([1.5]), ValueError, "sequence of integers"),
        (lambda: R.slice([[1]]), ValueError, "sequence of integers"),
        (lambda: R.slice([0, 6]), IndexError, "indices must be between -6 and 5, got 0 to 6"),
        (lambda: R.slice(M.range(8))[6], IndexError, "indices must be between -6 and 5, got 6"),
        (lambda: R.slice([-7]), IndexError, "indices must be between -6 and 5"),
        (lambda: M.mix([]), ValueError, "datasets must hold at least one dataset, got none"),
        (lambda: M.mix([R, S]), TypeError, "datasets must be MapDatasets, got IterDataset"),
        (lambda: M.mix([R, R], weights=[1]), ValueError, "got 1 weights for 2 datasets"),
        (lambda: M.mix([R, R], weights=[1, 0]), ValueError, "weights must be positive and finite"),
        (lambda: M.mix([R, M.range(0)]), ValueError, "must not be empty, but number 1 is"),
        (lambda: M.concatenate([R, [1]]), TypeError, "got list"),
        (lambda: M.select_from_datasets([R], Far())[0], IndexError, r"Far\[0\] names dataset 5, but there are 1"),
        (lambda: I.mix([]), ValueError, "datasets must hold at least one dataset"),
        (lambda: I.mix([S, 3]), TypeError, "datasets must be IterDatasets, got int"),
        (lambda: I.mix({"a": S}, weights={"b": 1}), ValueError, r"weights must be a mapping with the keys.*\['a'\]"),
        (lambda: I.mix({"a": S}, weights=[1]), ValueError, "weights must be a mapping"),
        (lambda: I.mix([S], weights={"a": 1}), ValueError, "weights must be a sequence"),
        (lambda: M.source(iter([1])), TypeError, "has no `__len__`.*list or a file"),
        (lambda: M.source({"a": 1}), TypeError, "is a mapping"),
        (lambda: M.source(np.array(3)), TypeError, r"an array without dimensions has none, got array\(3\)"),
        (lambda: grain.load(x for x in "ab"), TypeError, "but generator has no `__len__`"),
        (lambda: grain.load({"a": 1}), TypeError, "is a mapping"),
        (lambda: grain.load([1], transformations=5), TypeError, "transformations must be a sequence of trans.*, got 5"),
        (lambda: ex.ElasticIterator(R, 4, None), TypeError, "shard_options must be a grain.sharding.Sh.*, got None"),
        (lambda: ex.ElasticIterator(R, 4, NONE, read_options=3), TypeError, "read_options must be a grain.ReadOptions"),
        (
            lambda: ex.ElasticIterator(R, 4, NONE, multiprocessing_options=3),
            TypeError,
            "multiprocessing_options must be a grain.MultiprocessingOptions, got 3",
        ),
        (
            lambda: ex.shard_batches(S.batch(2), None),
            TypeError,
            "shard_options must be a grain.sharding.Shard.*, got N",
        ),
        (lambda: ex.shard_batches([1], NONE), TypeError, "ds must be a MapDataset or an IterDataset, got list"),
        (lambda: M.source(3), TypeError, "a source must have `__len__` and `__getitem__`, but int"),
        (lambda: M([3]), TypeError, "parents must be datasets, got int"),
        (lambda: R.apply(lambda x: x), NotImplementedError, "cannot apply function.*Map, RandomMap"),
        (lambda: R.apply(3), NotImplementedError, "cannot apply int"),
        (lambda: R.to_iter_dataset(4), TypeError, "read_options must be a grain.ReadOptions, got 4"),
        (lambda: S.mp_prefetch(2), TypeError, "options must be a grain.MultiprocessingOptions, got 2"),
        (lambda: S.mp_prefetch(worker_init_fn=3), TypeError, "worker_init_fn must be a function"),
        (lambda: grain.ReadOptions(num_threads=-1), ValueError, "num_threads must be an integer of at least 0, got -1"),
        (lambda: grain.ReadOptions(prefetch_buffer_size="a"), TypeError, "prefetch_buffer_size must be an integer"),
        (lambda: grain.MultiprocessingOptions(-1), ValueError, "num_workers must be an integer of at least 0, got -1"),
        (lambda: grain.MultiprocessingOptions(1, 0), ValueError, "per_worker_buffer_size must be a positive integer"),
        (lambda: grain.MultiprocessingOptions(1, worker_timeout=0), ValueError, "worker_timeout must be None or a pos"),
        (lambda: DatasetOptions(filter_warn_threshold_ratio=2), ValueError, "must be None or between 0 and 1, got 2"),
        (lambda: WithOptionsIterDataset(S, {}), TypeError, "options must be a grain.experimental.DatasetOptions"),
        (lambda: FlatMapMapDataset(R, lambda x: [x]), TypeError, "transform must be a grain.transforms.FlatMap"),
    ],
)
def test_a_bad_argument_is_named(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert type(caught.value) is error


PACKED = {"length_struct": {"x": 4}}
OF_ONE_STREAM = {
    "limit": lambda parent: ex.LimitIterDataset(parent, 2),
    "repeat": ex.RepeatIterDataset,
    "cache": ex.CacheIterDataset,
    "rebatch": lambda parent: ex.RebatchIterDataset(parent, 2),
    "window shuffle": lambda parent: ex.WindowShuffleIterDataset(parent, window_size=2, seed=1),
    "first fit": lambda parent: ex.FirstFitPackIterDataset(parent, num_packing_bins=2, **PACKED),
    "best fit": lambda parent: ex.BestFitPackIterDataset(parent, num_packing_bins=2, **PACKED),
    "concat then split": lambda parent: ex.ConcatThenSplitIterDataset(parent, **PACKED),
    "flat map": lambda parent: ex.FlatMapIterDataset(parent, lambda x: [x]),
    "options": lambda parent: ex.WithOptionsIterDataset(parent, DatasetOptions()),
    "prefetch": lambda parent: ex.ThreadPrefetchIterDataset(parent, prefetch_buffer_size=1),
}
OF_ONE_DATASET = {
    "window shuffle": lambda parent: ex.WindowShuffleMapDataset(parent, window_size=2, seed=1),
    "flat map": lambda parent: FlatMapMapDataset(parent, lambda x: [x]),
}


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (
            lambda given: ex.FirstFitPackIterDataset(S, num_packing_bins=2, meta_features=given, **PACKED),
            "meta_features",
        ),
        (lambda given: ex.ConcatThenSplitIterDataset(S, meta_features=given, **PACKED), "meta_features"),
        (
            lambda given: ex.ConcatThenSplitIterDataset(
                S,
                bos_handling=ex.BOSHandling.REPLACE_FIRST_TOKEN_WITH_BOS,
                bos_token_id=1,
                bos_features=given,
                **PACKED,
            ),
            "bos_features",
        ),
        (lambda given: grain.sources.ParquetDataSource(__file__, columns=given), "columns"),
    ],
)
def test_a_text_is_no_list_of_names(call, name):
    with pytest.raises(TypeError, match=f"{name} must be a sequence of names, got the text 'x'"):
        call("x")
    with pytest.raises(TypeError, match=f"{name} must be a sequence of names, got 5"):
        call(5)


@pytest.mark.parametrize("make", OF_ONE_STREAM.values(), ids=OF_ONE_STREAM)
@pytest.mark.parametrize("parent", [[], [S], None, iter([1])], ids=["no list", "list", "None", "iterator"])
def test_a_step_takes_one_dataset_and_nothing_else(make, parent):
    with pytest.raises(
        TypeError, match=r"parent must be a MapDataset or an IterDataset, got (list|None|list_iterator)"
    ):
        make(parent)


@pytest.mark.parametrize("make", OF_ONE_DATASET.values(), ids=OF_ONE_DATASET)
@pytest.mark.parametrize("parent", [[R], None, S], ids=["list", "None", "stream"])
def test_a_step_with_random_access_takes_no_stream(make, parent):
    with pytest.raises(TypeError, match=r"parent must be a MapDataset, got (list|None|IterDataset)"):
        make(parent)


def test_zip_with_random_access_takes_no_streams_but_any_iterable():
    with pytest.raises(TypeError, match="each of parents must be a MapDataset, got IterDataset"):
        ex.ZipMapDataset([R, S])
    assert ex.ZipMapDataset(ds for ds in (R, R))[1] == (1, 1)


class Blocks:
    """A source that answers a block with whatever it is told."""

    def __init__(self, answer):
        self.answer = answer

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return index

    def __getitems__(self, indices):
        return self.answer(indices)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (lambda keys: None, "NoneType"),
        (iter, "list_iterator"),
        (lambda keys: dict.fromkeys(keys), "dict"),
        (set, "set"),
    ],
)
def test_a_block_of_records_must_be_a_list(answer, kind):
    with pytest.raises(TypeError, match=f"Blocks.__getitems__ must return a list, one record per index, got {kind}"):
        list(M.source(Blocks(answer)).to_iter_dataset(grain.ReadOptions(num_threads=0)).batch(4))
    with pytest.raises(TypeError, match=f"Blocks.__getitems__ must return a list, one record per index, got {kind}"):
        grain.sources.SequenceDataSource(Blocks(answer)).__getitems__([0, 1])


@pytest.mark.parametrize("make", [lambda: R.map(str)[2:2][0], lambda: M.source([])[0], lambda: M.range(0).batch(2)[0]])
def test_an_element_of_nothing_is_an_error(make):
    with pytest.raises((IndexError, ZeroDivisionError)):
        make()


@pytest.mark.parametrize(
    ("call", "missing"),
    [
        (lambda: iter(type("Mine", (I,), {})()), "Mine must define `__iter__`"),
        (lambda: len(type("Mine", (M,), {})()), "Mine must define `__len__`"),
        (lambda: type("Mine", (M,), {"__len__": lambda self: 1})()[0], "Mine must define `__getitem__`"),
    ],
)
def test_a_class_of_the_users_that_lacks_a_method_says_which(call, missing):
    with pytest.raises(NotImplementedError, match=missing):
        call()
