"""What is refused, and with which type of exception."""

from case import table

SETUP = """
class Over(grain.experimental.FlatMapTransform):
    max_fan_out = 2
    def flat_map(self, x): return [x] * 3
class Some(grain.experimental.FlatMapTransform):
    max_fan_out = 2
    def flat_map(self, x): return [x]
class Pick(grain.transforms.DatasetSelectionMap):
    def __len__(self): return 3
    def __getitem__(self, i): return (5, 0)
class Empty(grain.transforms.DatasetSelectionMap):
    def __len__(self): return 0
    def __getitem__(self, i): return (0, 0)
class Numbered(grain.transforms.MapWithIndex):
    def map_with_index(self, i, x): return (i, x)
class Noise(grain.transforms.RandomMap):
    def random_map(self, x, rng): return x + rng.integers(9)
def T(*a): return grain.MapDataset.range(*a).to_iter_dataset()
def docs(*lens): return grain.MapDataset.source([{'x': np.arange(n)} for n in lens]).to_iter_dataset()
Replace = grain.experimental.BOSHandling.REPLACE_FIRST_TOKEN_WITH_BOS
def full(m, **k): return grain.DataLoader(data_source=[1, 2, 3], sampler=m, **k)
"""

PLAIN = """
random-no-seed-iter :: T(3).random_map(lambda x, r: x)
random-seed-negative :: MAP.range(3).random_map(lambda x, r: x, seed=-1)
shuffle-no-seed :: MAP.range(3).shuffle()
shuffle-seed-negative :: MAP.range(3).shuffle(seed=-1)
shuffle-seed-too-big :: MAP.range(3).shuffle(seed=2**32)
shuffle-seed-str :: MAP.range(3).shuffle(seed='a')
repeat-zero :: MAP.range(3).repeat(0)
repeat-negative :: MAP.range(3).repeat(-2)
repeat-float :: MAP.range(3).repeat(1.5)
repeat-str :: MAP.range(3).repeat('a')
repeat-of-infinite :: MAP.range(3).repeat().repeat(2)
repeat-infinite-of-infinite :: MAP.range(3).repeat().shuffle(seed=1).repeat()
repeat-too-long :: MAP.range(10**10).repeat(10**10)
range-no-arguments :: MAP.range()
range-zero-step :: MAP.range(1, 5, 0)
range-float :: MAP.range(2.5)
range-str :: MAP.range('a')
source-none :: MAP.source(None)
source-int :: MAP.source(5)
source-set :: MAP.source({1, 2})
source-generator :: MAP.source(x for x in range(3))
map-none :: MAP.range(3).map(None)
map-int :: MAP.range(3).map(5)
filter-none :: MAP.range(3).filter(None)
iter-map-none :: T(3).map(None)
iter-filter-int :: T(3).filter(5)
map-raises :: MAP.range(3).map(lambda x: 1 // (x - 1))
map-raises-key :: MAP.range(3).map(lambda x: {}[x])
iter-map-raises :: T(3).map(lambda x: [][x])
iter-filter-raises :: T(3).filter(lambda x: 'a' + x)
random-map-raises :: MAP.range(3).random_map(lambda x, r: x / 0, seed=1)
map-arguments :: MAP.range(3).map(lambda: 1)
map-with-index-arguments :: MAP.range(3).map_with_index(lambda x: 1)
index-str :: MAP.range(3)['a']
index-float :: MAP.range(3)[1.5]
index-none :: MAP.range(3)[None]
slice-step-zero :: MAP.range(3)[::0]
slice-method-int :: MAP.range(3).slice(1)
batch-zero-iter :: T(3).batch(0)
batch-none :: MAP.range(3).batch(None)
batch-str :: MAP.range(3).batch('a')
batch-float :: MAP.range(3).batch(1.5)
batch-positional-drop :: MAP.range(3).batch(2, True)
batch-fn-int :: MAP.range(3).batch(2, batch_fn=5)
batch-fn-raises :: MAP.range(3).batch(2, batch_fn=lambda xs: xs[9])
batch-after-filter :: MAP.range(6).filter(lambda x: x % 2).batch(2)
batch-after-filter-map :: MAP.range(6).filter(lambda x: x % 2).map(lambda x: x).batch(2)
batch-after-filter-mix :: MAP.mix([MAP.range(6).filter(lambda x: x % 2), MAP.range(3)]).batch(2)
batch-after-flat-map :: X.FlatMapMapDataset(MAP.range(6), Some()).batch(2)
batch-apply-zero :: MAP.range(6).apply(TR.Batch(0))
stack-ragged-iter :: T(4).map(lambda i: np.zeros(i)).batch(2)
stack-ragged-tree :: T(4).map(lambda i: {'a': np.zeros(i), 'b': i}).batch(2)
stack-ragged-lists :: MAP.range(4).map(lambda i: [0] * i).batch(2)
stack-other-keys :: MAP.range(4).map(lambda i: {'a': 1} if i % 2 else {'b': 1}).batch(2)
stack-more-keys :: MAP.range(4).map(lambda i: {'a': 1} if i % 2 else {'a': 1, 'b': 1}).batch(2)
stack-fewer-keys :: MAP.range(4).map(lambda i: {'a': 1, 'b': 1} if i % 2 else {'a': 1}).batch(2)
stack-list-tuple :: MAP.range(4).map(lambda i: (1, 2) if i % 2 else [1, 2]).batch(2)
stack-list-int :: MAP.range(4).map(lambda i: 1 if i % 2 else [1, 2]).batch(2)
stack-dict-int :: MAP.range(4).map(lambda i: 1 if i % 2 else {'a': 1}).batch(2)
stack-none-first :: MAP.range(4).map(lambda i: {'a': 1} if i % 2 else {'a': None}).batch(2)
stack-none-element-first :: MAP.source([None, 1]).batch(2)
stack-dims :: MAP.range(4).map(lambda i: np.zeros(2) if i % 2 else np.zeros((2, 2))).batch(2)
stack-array-scalar :: MAP.range(4).map(lambda i: np.zeros(2) if i % 2 else 1.0).batch(2)
stack-mixed-keys :: MAP.range(4).map(lambda i: {'b': i, 1: i}).batch(2)
rebatch-zero :: X.RebatchIterDataset(T(10).batch(4), batch_size=0)
rebatch-negative :: X.RebatchIterDataset(T(10).batch(4), batch_size=-1)
rebatch-scalars :: X.RebatchIterDataset(T(10), batch_size=2)
mix-nothing :: MAP.mix([])
mix-empty-second :: MAP.mix([MAP.range(3), MAP.range(0)])
mix-str-weights :: MAP.mix([MAP.range(2), MAP.range(3)], weights=['a', 'b'])
iter-mix-nothing :: ITER.mix([])
iter-mix-zero-weight :: ITER.mix([T(2), T(3)], weights=[0, 1])
concat-infinite :: MAP.concatenate([MAP.range(3).repeat(), MAP.range(3)])
concat-not-datasets :: MAP.concatenate([1, 2])
select-out-of-range :: MAP.select_from_datasets([MAP.range(3)], Pick())
select-no-datasets :: MAP.select_from_datasets([], Pick())
zip-nothing :: X.ZipMapDataset([])
zip-iter-nothing :: X.ZipIterDataset([])
zip-iter-longer :: X.ZipIterDataset([T(3), T(4)])
zip-iter-shorter :: X.ZipIterDataset([T(4), T(3)])
limit-zero :: X.LimitIterDataset(T(3), 0)
limit-negative :: X.LimitIterDataset(T(3), -1)
repeat-iter-zero :: X.RepeatIterDataset(T(3), 0)
repeat-iter-negative :: X.RepeatIterDataset(T(3), -1)
flat-map-too-many :: X.FlatMapMapDataset(MAP.range(3), Over())
window-no-seed :: X.WindowShuffleMapDataset(MAP.range(3), window_size=2)
window-iter-no-seed :: X.WindowShuffleIterDataset(T(3), window_size=2)
interleave-no-cycle :: X.InterleaveIterDataset([T(3)])
interleave-raises :: X.InterleaveIterDataset([T(3).map(lambda x: 1 // (x - 1)), T(10, 14)], cycle_length=2)
pack-too-long :: X.FirstFitPackIterDataset(docs(5, 13, 3), length_struct={'x': 10}, num_packing_bins=2)
pack-best-too-long :: X.BestFitPackIterDataset(docs(5, 13, 3), length_struct={'x': 10}, num_packing_bins=2)
pack-zero-sequences :: X.FirstFitPackIterDataset(docs(5), length_struct={'x': 10}, num_packing_bins=2, max_sequences_per_bin=0)
pack-missing-feature :: X.FirstFitPackIterDataset(docs(5), length_struct={'y': 10}, num_packing_bins=2)
pack-no-bins :: X.FirstFitPackIterDataset(docs(5), length_struct={'x': 10})
split-other-features :: X.ConcatThenSplitIterDataset(docs(5), length_struct={'y': 10})
split-missing-feature :: X.ConcatThenSplitIterDataset(docs(5), length_struct={'x': 10, 'y': 10})
split-bos-no-token :: X.ConcatThenSplitIterDataset(docs(5), length_struct={'x': 10}, bos_handling=Replace, bos_features=['x'])
split-bos-unused :: X.ConcatThenSplitIterDataset(docs(5), length_struct={'x': 10}, bos_token_id=3)
sampler-zero :: grain.samplers.IndexSampler(0)
sampler-negative :: grain.samplers.IndexSampler(-3)
sampler-epochs-zero :: grain.samplers.IndexSampler(3, num_epochs=0)
sampler-epochs-negative :: grain.samplers.IndexSampler(3, num_epochs=-1)
sampler-shuffle-no-seed :: grain.samplers.IndexSampler(3, shuffle=True)
sampler-seed-negative :: grain.samplers.IndexSampler(3, seed=-1)
sampler-seed-too-big :: grain.samplers.IndexSampler(3, seed=2**32)
sampler-past :: grain.samplers.IndexSampler(3, num_epochs=1)[3].index
sampler-negative-index :: grain.samplers.IndexSampler(3, num_epochs=1)[-1].index
sampler-past-no-epochs :: grain.samplers.SequentialSampler(3)[3].index
sequential-zero :: grain.samplers.SequentialSampler(0)
shard-index-too-big :: grain.sharding.ShardOptions(2, 2)
shard-index-negative :: grain.sharding.ShardOptions(-1, 2)
shard-count-zero :: grain.sharding.ShardOptions(0, 0)
loader-no-sampler :: grain.DataLoader(data_source=[1])
loader-workers-negative :: full(grain.samplers.SequentialSampler(3), worker_count=-1)
loader-operation-wrong :: full(grain.samplers.SequentialSampler(3), operations=[5])
load-no-seed-shuffle :: grain.load([1, 2, 3], shuffle=True)
load-batch-zero :: grain.load([1, 2, 3], num_epochs=1, batch_size=0)
loader-no-shard :: grain.DataLoader(data_source=[1, 2], sampler=[1, 2])
loader-one-operation :: full(grain.samplers.SequentialSampler(3), operations=TR.Batch(2))
loader-batch-zero :: full(grain.samplers.SequentialSampler(3), operations=[TR.Batch(0)])
loader-buffer-negative :: full(grain.samplers.SequentialSampler(3), worker_buffer_size=-1)
loader-state-workers :: (lambda it: it.set_state(it.get_state().replace(b'"worker_count": 0', b'"worker_count": 2')))(iter(full(grain.samplers.SequentialSampler(3))))
loader-state-sampler :: (lambda it: it.set_state(it.get_state().replace(b'num_records=3', b'num_records=4')))(iter(full(grain.samplers.SequentialSampler(3))))
loader-state-source :: (lambda it: it.set_state(it.get_state().replace(b'list', b'tuple')))(iter(full(grain.samplers.SequentialSampler(3))))
load-epochs-zero :: grain.load([1, 2, 3], num_epochs=0)
load-nothing :: grain.load([], num_epochs=1)
sampler-str :: grain.samplers.IndexSampler('a')
sampler-float :: grain.samplers.IndexSampler(3.5)
abstract-map-dataset :: grain.MapDataset()
abstract-iter-dataset :: grain.IterDataset()
abstract-iterator :: grain.DatasetIterator()
iter-no-len :: len(T(5))
iter-no-index :: T(5)[0]
iter-no-shuffle :: T(5).shuffle(seed=1)
iter-no-repeat :: T(5).repeat(2)
iter-apply-wrong :: T(5).apply(5)
apply-nested :: MAP.range(5).apply([TR.Batch(2), [TR.Batch(2)]])
closed :: (lambda it: [it.close(), next(it)])(iter(T(5)))
elastic-uneven :: X.ElasticIterator(MAP.range(20), 4, grain.sharding.ShardOptions(0, 3))
elastic-zero :: X.ElasticIterator(MAP.range(20), 0, grain.sharding.ShardOptions(0, 2))
elastic-filter :: X.ElasticIterator(MAP.range(20).filter(lambda x: x), 4, grain.sharding.ShardOptions(0, 2))
range-source-past :: grain.sources.RangeDataSource(0, 10, 3)[5]
range-source-negative :: grain.sources.RangeDataSource(0, 10, 3)[-1]
shared-memory-nothing :: grain.sources.SharedMemoryDataSource()
pad-too-many :: X.batch_and_pad([1, 2, 3], batch_size=2)
pad-nothing :: X.batch_and_pad([], batch_size=2)
spec-of-function :: X.get_element_spec(MAP.range(3).map(lambda x: x))
prefetch-negative :: X.ThreadPrefetchIterDataset(T(5), prefetch_buffer_size=-1)
next-index-past :: X.set_next_index(iter(T(5)), 9)
next-index-of-mix :: X.get_next_index(iter(ITER.mix([T(5)])))
filter-raise-half :: list(X.WithOptionsIterDataset(T(1000).filter(lambda x: x % 2), X.DatasetOptions(filter_raise_threshold_ratio=0.5)))
filter-raise-second-window :: list(X.WithOptionsIterDataset(T(2000).filter(lambda x: x < 1000), X.DatasetOptions(filter_raise_threshold_ratio=0.5)))
apply-wrong :: MAP.range(3).apply(5)
apply-function :: MAP.range(3).apply(lambda x: x)
apply-class :: MAP.range(3).apply([TR.Map])
apply-abstract :: TR.Map()
apply-random-no-seed :: MAP.range(3).apply(Noise())
read-threads-negative :: grain.ReadOptions(num_threads=-1)
read-buffer-negative :: grain.ReadOptions(prefetch_buffer_size=-1)
filter-raise :: list(X.WithOptionsIterDataset(MAP.range(2000).filter(lambda x: x > 1990).to_iter_dataset(), X.DatasetOptions(filter_raise_threshold_ratio=0.5)))
next-index-negative :: X.set_next_index(iter(T(5)), -1)
next-index-of-filter :: X.get_next_index(iter(T(5).filter(lambda x: x)))
state-wrong :: iter(T(5)).set_state({'nonsense': 1})
state-negative :: iter(T(5)).set_state({'next_index': -1})
state-past :: iter(T(5)).set_state({'next_index': 9})
index-shuffle-past :: X.index_shuffle(5, max_index=4, seed=1, rounds=4)
index-shuffle-odd-rounds :: X.index_shuffle(1, max_index=4, seed=1, rounds=3)
index-shuffle-no-rounds :: X.index_shuffle(1, max_index=4, seed=1, rounds=0)
index-shuffle-negative :: X.index_shuffle(-1, max_index=4, seed=1, rounds=4)
"""

# The type is an accident of how the reference is written: where we say something clearer, the case goes.
ACCIDENTS = """
index-empty :: MAP.range(0)[0]
index-empty-shuffle :: MAP.range(0).shuffle(seed=1)[0]
index-empty-map :: MAP.range(0).map(abs)[0]
mix-negative-weight :: MAP.mix([MAP.range(2), MAP.range(3)], weights=[-1, 1])
mix-few-weights :: MAP.mix([MAP.range(2), MAP.range(3)], weights=[1])
mix-many-weights :: MAP.mix([MAP.range(2), MAP.range(3)], weights=[1, 2, 3])
mix-not-datasets :: MAP.mix([[1, 2], [3]])
iter-mix-negative-weight :: ITER.mix([T(2), T(3)], weights=[-1, 1])
iter-mix-few-weights :: ITER.mix([T(2), T(3)], weights=[1])
iter-mix-missing-key :: ITER.mix({'a': T(2), 'b': T(3)}, weights={'a': 1})
flat-map-plain-function :: X.FlatMapMapDataset(MAP.range(3), lambda x: [x])
window-zero :: X.WindowShuffleMapDataset(MAP.range(3), window_size=0, seed=1)
pack-zero-bins :: X.FirstFitPackIterDataset(docs(5), length_struct={'x': 10}, num_packing_bins=0)
sampler-too-many-shards :: grain.samplers.IndexSampler(3, grain.sharding.ShardOptions(0, 5, drop_remainder=True))
loader-random-no-seed :: full(grain.samplers.SequentialSampler(3), operations=[Noise()])
range-source-zero-step :: grain.sources.RangeDataSource(0, 5, 0)
load-map-with-index :: grain.load([1, 2, 3], num_epochs=1, transformations=[Numbered()])
load-random-after-flat-map :: grain.load([1, 2, 3], num_epochs=1, seed=1, transformations=[Some(), Noise()])
random-map-negative-index :: MAP.range(3).random_map(lambda x, rng: int(rng.integers(9)), seed=0)[-1]
shuffle-power-of-two :: [MAP.range(n + 1).shuffle(seed=3)[n] for n in (2**16, 2**24, 2**32)]
shuffle-int32-index :: MAP.range(5).shuffle(seed=1)[np.int32(7)]
filter-called-with-none :: MAP.range(6).filter(lambda x: x % 2).to_iter_dataset(allow_nones=True).filter(lambda x: x > 2)
"""

# Not refused, though one might expect it.
ALLOWED = """
concat-nothing :: MAP.concatenate([])
select-empty :: MAP.select_from_datasets([MAP.range(3)], Empty())
loader-sampler-too-long :: full(grain.samplers.SequentialSampler(5))
"""

CASES = table("error", PLAIN, SETUP) + table("accident", ACCIDENTS, SETUP) + table("allowed", ALLOWED, SETUP)
