"""What stands beside the pipelines: options, specs, sources, generators, users' own classes, constants."""

from case import table

PLAIN = """
constants :: [grain.constants.INDEX, grain.constants.EPOCH, grain.constants.RECORD, grain.constants.RECORD_KEY, grain.constants.SEED, grain.constants.DATASET_INDEX]
constants-python :: [grain.python.INDEX, grain.python.EPOCH, grain.python.RECORD_KEY, sorted(grain.python.META_FEATURES)]
read-options :: [repr(grain.ReadOptions()), repr(grain.ReadOptions(2, 3)), repr(grain.ReadOptions(num_threads=0))]
multiprocessing-options :: [repr(grain.MultiprocessingOptions()), repr(grain.MultiprocessingOptions(2, 3, True))]
options-equal :: [grain.ReadOptions() == grain.ReadOptions(16, 500), grain.MultiprocessingOptions(num_workers=1) == grain.MultiprocessingOptions()]
batch-repr :: [repr(TR.Batch(3)), repr(TR.Batch(3, True))]
enum-names :: [[e.name for e in X.BOSHandling], [e.name for e in X.ExecutionTrackingMode]]
range-source :: [list(map(grain.sources.RangeDataSource(3, 20, 4).__getitem__, range(5))), len(grain.sources.RangeDataSource(3, 20, 4))]
range-source-down :: [len(grain.sources.RangeDataSource(9, 2, -3)), [grain.sources.RangeDataSource(9, 2, -3)[i] for i in range(3)]]
range-source-empty :: len(grain.sources.RangeDataSource(5, 5, 1))
range-source-dataset :: MAP.source(grain.sources.RangeDataSource(0, 10, 3)).shuffle(seed=1)
rng-pool :: [int(X.RngPool(3).acquire_rng(i).integers(1 << 40)) for i in range(6)]
rng-pool-op-seed :: [int(X.RngPool(3).acquire_rng(i, op_seed=s).integers(1 << 40)) for i in range(3) for s in range(3)]
rng-pool-reuse :: (lambda p: [(lambda r: (int(r.integers(99)), p.release_rng(r)))(p.acquire_rng(i))[0] for i in (0, 1, 0, 5)])(X.RngPool(7))
rng-pool-like-random-map :: [int(X.RngPool(5).acquire_rng(i).integers(1 << 30)) for i in range(4)] == list(MAP.range(4).random_map(lambda x, r: int(r.integers(1 << 30)), seed=5))
apply-transformations :: X.apply_transformations(MAP.range(6), [Add(), TR.Batch(2)])
apply-transformations-one :: X.apply_transformations(MAP.range(6).to_iter_dataset(), Add())
apply-one :: MAP.range(6).apply(Add())
apply-tuple :: MAP.range(6).apply((Add(), Odd()))
apply-empty :: MAP.range(6).apply([])
apply-map-object :: MAP.range(6).map(Add())
apply-filter-object :: MAP.range(6).filter(Odd())
apply-random-object :: MAP.range(6).random_map(Noise(), seed=4)
apply-index-object :: MAP.range(6).map_with_index(Numbered())
iter-map-object :: MAP.range(6).to_iter_dataset().map(Add()).filter(Odd())
iter-random-object :: MAP.range(6).to_iter_dataset().random_map(Noise(), seed=4)
iter-index-object :: MAP.range(6).to_iter_dataset().map_with_index(Numbered())
apply-random-seeded :: MAP.range(6).seed(4).apply([Noise(), Noise()])
own-map :: Doubled(MAP.range(5))
own-map-shuffled :: Doubled(MAP.range(5).shuffle(seed=1)).shuffle(seed=2).repeat(2)
own-map-slice :: Doubled(MAP.range(9))[2:7:2]
own-map-batch :: Doubled(MAP.range(5)).batch(2)
own-map-iter :: Doubled(MAP.range(5)).to_iter_dataset().map(lambda x: x + 1)
own-map-mix :: MAP.mix([Doubled(MAP.range(5)), MAP.range(50, 55)])
own-map-pipe :: MAP.range(5).pipe(Doubled)
own-map-parents :: [len(Doubled(MAP.range(5)).parents), len(MAP.range(5).parents), len(MAP.mix([MAP.range(2), MAP.range(3)]).parents)]
own-source :: Squares(6)
own-source-chain :: Squares(6).filter(lambda x: x % 2).map(lambda x: x + 1)
own-source-random :: Squares(6).seed(3).shuffle().random_map(lambda x, r: (x, int(r.integers(99))))
own-iter :: Pairs(MAP.range(7).to_iter_dataset())
own-iter-chain :: Pairs(MAP.range(7).to_iter_dataset()).map(lambda p: p[0] + p[1]).batch(2)
own-iter-limit :: X.LimitIterDataset(Pairs(MAP.range(9).to_iter_dataset()), 2)
own-iter-source :: Count(5)
own-iter-source-batch :: Count(7).filter(lambda x: x % 2).batch(2)
own-iter-pack :: X.WindowShuffleIterDataset(Count(7), window_size=3, seed=1)
set-next-index :: (lambda it: [X.set_next_index(it, 4), next(it), X.get_next_index(it)])(iter(MAP.range(9).to_iter_dataset()))
get-next-index :: (lambda it: [X.get_next_index(it), next(it), next(it), X.get_next_index(it)])(iter(MAP.range(9).map(abs).to_iter_dataset()))
set-next-index-map :: (lambda it: [X.set_next_index(it, 4), next(it), X.get_next_index(it)])(iter(MAP.range(9).to_iter_dataset().map(lambda x: x * 2)))
set-next-index-batch :: (lambda it: [X.set_next_index(it, 2), next(it), X.get_next_index(it)])(iter(MAP.range(9).batch(2).to_iter_dataset()))
next-after-end :: (lambda it: [list(it), list(it), next(it, 'end')])(iter(MAP.range(3).to_iter_dataset().map(lambda x: x)))
next-index-iter-batch :: (lambda it: [X.get_next_index(it), next(it), next(it), X.get_next_index(it)])(iter(MAP.range(9).to_iter_dataset().batch(2)))
set-next-index-iter-batch :: (lambda it: [X.set_next_index(it, 2), next(it), X.get_next_index(it)])(iter(MAP.range(9).to_iter_dataset().batch(2)))
set-next-index-random :: (lambda it: [X.set_next_index(it, 4), next(it), X.get_next_index(it)])(iter(MAP.range(9).to_iter_dataset().random_map(lambda x, r: (x, int(r.integers(99))), seed=1)))
set-next-index-numbered :: (lambda it: [X.set_next_index(it, 4), next(it), X.get_next_index(it)])(iter(MAP.range(9).to_iter_dataset().map_with_index(lambda i, x: (i, x))))
set-next-index-of-map :: (lambda it: [X.set_next_index(it, 4), next(it), X.get_next_index(it)])(iter(MAP.range(9).shuffle(seed=1)))
element-spec :: [list(X.get_element_spec(MAP.range(3)).shape), np.dtype(X.get_element_spec(MAP.range(3)).dtype).name]
element-spec-batch :: [X.get_element_spec(ds).shape for ds in (MAP.range(3).batch(2), MAP.range(3).batch(2, drop_remainder=True), MAP.range(3).to_iter_dataset().batch(2))]
element-spec-own :: [(k, v.shape, np.dtype(v.dtype).name) for k, v in X.get_element_spec(MAP.range(3).map(Zeros()).batch(4)).items()]
closed :: (lambda it: [next(it), it.close(), it.close(), it.get_state()])(iter(MAP.range(9).to_iter_dataset()))
elastic-four :: [list(X.ElasticIterator(MAP.range(20), 4, grain.sharding.ShardOptions(k, 4))) for k in range(4)]
elastic-forever :: X.ElasticIterator(MAP.range(10).shuffle(seed=1).repeat(), 4, grain.sharding.ShardOptions(0, 2))
elastic-tree :: X.ElasticIterator(MAP.range(8).map(lambda x: {'a': x}), 4, grain.sharding.ShardOptions(1, 2))
elastic-short :: X.ElasticIterator(MAP.range(6), 4, grain.sharding.ShardOptions(0, 2))
elastic-other-hosts :: (lambda a, b: [next(a), next(a), b.set_state(a.get_state()), next(b), next(b)])(iter(X.ElasticIterator(MAP.range(24), 4, grain.sharding.ShardOptions(0, 2))), iter(X.ElasticIterator(MAP.range(24), 6, grain.sharding.ShardOptions(1, 3))))
shared-memory :: (lambda s: [len(s), [s[i] for i in (0, 1, -1)], s.unlink()])(grain.sources.SharedMemoryDataSource([1, 'a', 2.5, None, True, b'x']))
source-protocol :: [isinstance([1], grain.sources.RandomAccessDataSource), isinstance({1}, grain.sources.RandomAccessDataSource)]
range-source-repr :: repr(grain.sources.RangeDataSource(0, 10, 3))
no-super :: Bare().map(lambda x: x + 1)
options-merge :: (lambda o: [o.filter_warn_threshold_ratio, o.filter_raise_threshold_ratio, o.min_shm_size])(X.DatasetOptions(filter_warn_threshold_ratio=0.1).merge(X.DatasetOptions(filter_warn_threshold_ratio=0.2, min_shm_size=5)))
options-default :: (lambda o: [o.filter_warn_threshold_ratio, o.filter_raise_threshold_ratio, o.execution_tracking_mode.name, o.min_shm_size])(X.DatasetOptions())
filter-under-a-thousand :: len(list(X.WithOptionsIterDataset(MAP.range(999).filter(lambda x: x == 7).to_iter_dataset(), X.DatasetOptions(filter_raise_threshold_ratio=0.5))))
filter-below-the-limit :: len(list(X.WithOptionsIterDataset(MAP.range(3000).filter(lambda x: not 700 <= x < 1190).to_iter_dataset(), X.DatasetOptions(filter_raise_threshold_ratio=0.5))))
filter-limit-one :: len(list(X.WithOptionsIterDataset(MAP.range(3000).to_iter_dataset().filter(lambda x: x % 100 == 0), X.DatasetOptions(filter_raise_threshold_ratio=1.0))))
elastic :: X.ElasticIterator(MAP.range(20).shuffle(seed=1), 4, grain.sharding.ShardOptions(0, 2))
elastic-second :: X.ElasticIterator(MAP.range(20).shuffle(seed=1), 4, grain.sharding.ShardOptions(1, 2))
elastic-alone :: X.ElasticIterator(MAP.range(10), 4, grain.sharding.NoSharding())
"""

SETUP = """
class Add(grain.transforms.Map):
    def map(self, x): return x + 1
class Odd(grain.transforms.Filter):
    def filter(self, x): return x % 2 == 1
class Noise(grain.transforms.RandomMap):
    def random_map(self, x, rng): return x * 1000 + rng.integers(1000)
class Numbered(grain.transforms.MapWithIndex):
    def map_with_index(self, i, x): return (i, x)
class Zeros(grain.transforms.Map):
    def map(self, x): return {"a": np.zeros((2, 3), np.float32)}
    def output_spec(self, spec): return {"a": grain.experimental.ShapeDtypeStruct((2, 3), np.float32)}
class Bare(grain.MapDataset):
    def __init__(self): pass
    def __len__(self): return 3
    def __getitem__(self, index): return index
class Doubled(grain.MapDataset):
    def __init__(self, parent):
        super().__init__(parent)
    def __len__(self): return len(self._parent)
    def __getitem__(self, index):
        if isinstance(index, slice): return self.slice(index)
        return self._parent[index] * 2
class Squares(grain.MapDataset):
    def __init__(self, n):
        super().__init__()
        self._n = n
    def __len__(self): return self._n
    def __getitem__(self, index):
        if isinstance(index, slice): return self.slice(index)
        return (index % self._n) ** 2
class PairsIterator(grain.DatasetIterator):
    def __init__(self, parent):
        super().__init__(parent)
    def __next__(self): return (next(self._parent), next(self._parent))
    def get_state(self): return self._parent.get_state()
    def set_state(self, state): self._parent.set_state(state)
class Pairs(grain.IterDataset):
    def __init__(self, parent):
        super().__init__(parent)
    def __iter__(self): return PairsIterator(self._parent.__iter__())
class CountIterator(grain.DatasetIterator):
    def __init__(self, n):
        super().__init__()
        self._n, self._i = n, 0
    def __next__(self):
        if self._i >= self._n: raise StopIteration
        self._i += 1
        return self._i - 1
    def get_state(self): return {"i": self._i}
    def set_state(self, state): self._i = state["i"]
class Count(grain.IterDataset):
    def __init__(self, n):
        super().__init__()
        self._n = n
    def __iter__(self): return CountIterator(self._n)
"""

CASES = table("misc", PLAIN, SETUP)
