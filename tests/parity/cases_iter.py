"""IterDataset and the experimental datasets: windows, interleave, zip, limit, repeat, cache, flat map, prefetch."""

from case import Case, table

SETUP = """
class Split(grain.experimental.FlatMapTransform):
    max_fan_out = 4
    def flat_map(self, x): return [x * 10 + j for j in range(x % 5)]
class Nones(grain.experimental.FlatMapTransform):
    max_fan_out = 3
    def flat_map(self, x): return [None, x]
class Chars(grain.experimental.FlatMapTransform):
    max_fan_out = 3
    def flat_map(self, x): return "ab"
class Array(grain.experimental.FlatMapTransform):
    max_fan_out = 9
    def flat_map(self, x): return np.arange(x)
def T(*a): return grain.MapDataset.range(*a).to_iter_dataset()
def parts(*lens): return [T(i * 10, i * 10 + n) for i, n in enumerate(lens)]
"""

PLAIN = """
map :: T(5).map(lambda x: x * 2)
map-none :: T(6).map(lambda x: None if x % 2 else x)
map-none-map :: T(6).map(lambda x: None if x % 2 else x).map(lambda x: (x,))
map-none-filter :: T(6).map(lambda x: None if x % 2 else x).filter(lambda x: True)
allow-nones :: MAP.range(6).filter(lambda x: x % 2).to_iter_dataset(allow_nones=True)
allow-nones-map :: MAP.range(6).filter(lambda x: x % 2).to_iter_dataset(allow_nones=True).map(lambda x: x + 1)
allow-nones-source :: MAP.source([None, 1, None]).to_iter_dataset(allow_nones=True)
inline :: MAP.range(9).shuffle(seed=1).to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0))
one-thread :: MAP.range(9).shuffle(seed=1).to_iter_dataset(grain.ReadOptions(num_threads=1, prefetch_buffer_size=1))
filter :: T(20).filter(lambda x: x % 3 == 0)
filter-truthy :: T(6).filter(lambda x: x)
filter-all :: T(6).filter(lambda x: False)
map-with-index :: T(10, 14).map_with_index(lambda i, x: (i, x))
map-with-index-filter :: T(10).filter(lambda x: x % 3).map_with_index(lambda i, x: (i, x))
map-with-index-batch :: T(7).batch(2).map_with_index(lambda i, x: (i, x.sum()))
map-with-index-flat :: X.FlatMapIterDataset(T(5), Split()).map_with_index(lambda i, x: (i, x))
pipe :: T(5).pipe(lambda ds, k: ds.map(lambda x: x + k), 10)
empty :: T(0).map(lambda x: x).filter(lambda x: x).batch(3)
repeat-to-iter :: MAP.range(3).shuffle(seed=1).repeat(3).to_iter_dataset()
forever-to-iter :: MAP.range(3).shuffle(seed=1).repeat().to_iter_dataset().batch(2)
seed-is-transparent :: T(5).seed(3)
iterate-twice :: (lambda ds: [list(ds), list(ds)])(T(5).map(lambda x: x + 1))
mix-list :: ITER.mix([T(9), T(50, 59)], weights=[.25, .75])
mix-none :: ITER.mix([T(9), T(50, 59)])
mix-stops :: ITER.mix([T(2), T(50, 59)])
mix-stops-second :: ITER.mix([T(20), T(50, 52)])
mix-one :: ITER.mix([T(4)])
mix-empty-part :: ITER.mix([T(4), T(0)])
mix-dict :: ITER.mix({'b': T(9), 'a': T(50, 59)}, weights={'a': .75, 'b': .25})
mix-dict-unweighted :: ITER.mix({'z': T(9), 'b': T(50, 59), 'm': T(70, 79)})
mix-dict-three :: ITER.mix({'z': T(9), 'b': T(50, 59), 'm': T(70, 79)}, weights={'z': 1, 'm': 2, 'b': 3})
mix-of-maps :: ITER.mix([MAP.range(5), MAP.range(10, 15)])
mix-filter :: ITER.mix([T(20).filter(lambda x: x % 2), T(50, 60)], weights=[2, 1])
mix-batch :: ITER.mix([T(20), T(50, 60)], weights=[2, 1]).batch(4)
mix-repeat :: X.RepeatIterDataset(ITER.mix([T(3), T(50, 53)]), 2)
mix-of-mix :: ITER.mix([ITER.mix([T(9), T(20, 29)]), T(40, 49)], weights=[.6, .4])
limit :: X.LimitIterDataset(T(20), count=7)
limit-more :: X.LimitIterDataset(T(3), 100)
limit-one :: X.LimitIterDataset(T(3), 1)
limit-of-map :: X.LimitIterDataset(MAP.range(10), 3)
limit-forever :: X.LimitIterDataset(MAP.range(3).repeat().to_iter_dataset(), 8)
limit-filter :: X.LimitIterDataset(T(20).filter(lambda x: x % 3 == 0), 4)
limit-batch :: X.LimitIterDataset(T(20), 7).batch(3)
batch-limit :: X.LimitIterDataset(T(20).batch(3), 2)
repeat :: X.RepeatIterDataset(T(3), 2)
repeat-one :: X.RepeatIterDataset(T(3), 1)
repeat-forever :: X.RepeatIterDataset(T(3))
repeat-empty :: X.RepeatIterDataset(T(0), 3)
repeat-limit :: X.RepeatIterDataset(X.LimitIterDataset(T(9), 2), 3)
limit-repeat :: X.LimitIterDataset(X.RepeatIterDataset(T(3)), 7)
repeat-random :: X.RepeatIterDataset(T(3).random_map(lambda x, r: int(r.integers(1000)), seed=4), 3)
repeat-window :: X.RepeatIterDataset(X.WindowShuffleIterDataset(T(5), window_size=3, seed=1), 2)
repeat-index :: X.RepeatIterDataset(T(3).map_with_index(lambda i, x: (i, x)), 2)
repeat-repeat :: X.RepeatIterDataset(X.RepeatIterDataset(T(2), 2), 2)
repeat-batch :: X.RepeatIterDataset(T(5), 2).batch(4)
batch-repeat :: X.RepeatIterDataset(T(5).batch(4), 2)
cache :: X.CacheIterDataset(T(4))
cache-repeat :: X.RepeatIterDataset(X.CacheIterDataset(T(4).map(lambda x: x * 2)), 3)
cache-random :: X.RepeatIterDataset(X.CacheIterDataset(T(3).random_map(lambda x, r: int(r.integers(1000)), seed=4)), 2)
cache-then-random :: X.RepeatIterDataset(X.CacheIterDataset(T(3)).random_map(lambda x, r: int(r.integers(1000)), seed=4), 2)
cache-empty :: X.CacheIterDataset(T(0))
flatmap-map :: X.FlatMapMapDataset(MAP.range(9), Split())
flatmap-map-slots :: [X.FlatMapMapDataset(MAP.range(4), Split())[i] for i in range(20)]
flatmap-map-nones :: X.FlatMapMapDataset(MAP.range(4), Nones())
flatmap-map-chars :: X.FlatMapMapDataset(MAP.range(3), Chars())
flatmap-map-array :: X.FlatMapMapDataset(MAP.range(5), Array())
flatmap-map-filter :: X.FlatMapMapDataset(MAP.range(9).filter(lambda x: x % 2), Split())
flatmap-map-shuffle :: X.FlatMapMapDataset(MAP.range(9), Split()).shuffle(seed=1)
flatmap-map-repeat :: X.FlatMapMapDataset(MAP.range(4).shuffle(seed=1), Split()).repeat(2)
flatmap-map-iter-batch :: X.FlatMapMapDataset(MAP.range(9), Split()).to_iter_dataset().batch(4)
flatmap-map-index :: X.FlatMapMapDataset(MAP.range(4), Split()).map_with_index(lambda i, x: (i, x))
flatmap-map-random :: X.FlatMapMapDataset(MAP.range(4), Split()).random_map(lambda x, r: (x, int(r.integers(99))), seed=1)
flatmap-map-len :: [len(X.FlatMapMapDataset(MAP.range(4), Split())), len(X.FlatMapMapDataset(MAP.range(4).repeat(), Split()))]
flatmap-iter :: X.FlatMapIterDataset(T(9), Split())
flatmap-iter-nones :: X.FlatMapIterDataset(T(4), Nones())
flatmap-iter-chars :: X.FlatMapIterDataset(T(3), Chars())
flatmap-iter-array :: X.FlatMapIterDataset(T(5), Array())
flatmap-iter-flatmap :: X.FlatMapIterDataset(X.FlatMapIterDataset(T(5), Split()), Split())
flatmap-apply :: MAP.range(6).apply(Split())
flatmap-apply-iter :: T(6).apply(Split())
zip-iter :: X.ZipIterDataset([T(3), T(10, 13)])
zip-iter-three :: X.ZipIterDataset([T(3), T(10, 13), T(20, 23)])
zip-iter-one :: X.ZipIterDataset([T(3)])
zip-iter-loose :: X.ZipIterDataset([T(3), T(10, 15)], strict=False)
zip-iter-loose-first :: X.ZipIterDataset([T(5), T(10, 13)], strict=False)
zip-iter-of-maps :: X.ZipIterDataset([MAP.range(3), MAP.range(10, 13)])
zip-iter-batch :: X.ZipIterDataset([T(5), T(10, 15)]).batch(2)
zip-iter-same :: (lambda ds: X.ZipIterDataset([ds, ds]))(T(4))
zip-iter-filter :: X.ZipIterDataset([T(9).filter(lambda x: x % 2), T(4)])
interleave-map :: X.InterleaveIterDataset([MAP.range(3), MAP.range(10, 14), MAP.range(20, 22)], cycle_length=2)
interleave-mixed :: X.InterleaveIterDataset([MAP.range(3), T(10, 14)], cycle_length=2)
interleave-filter :: X.InterleaveIterDataset([MAP.range(6).filter(lambda x: x % 2), T(10, 14)], cycle_length=2)
interleave-lazy :: X.InterleaveIterDataset(MAP.range(3).map(lambda i: T(i * 10, i * 10 + 3)), cycle_length=2)
interleave-buffers :: X.InterleaveIterDataset(parts(3, 4, 2), cycle_length=2, num_make_iter_threads=2, make_iter_buffer_size=3, iter_buffer_size=4)
interleave-batch :: X.InterleaveIterDataset(parts(3, 4, 2), cycle_length=2).batch(4)
interleave-shuffled :: X.InterleaveIterDataset([MAP.range(i * 10, i * 10 + 5).shuffle(seed=i) for i in range(4)], cycle_length=3)
thread-prefetch :: X.ThreadPrefetchIterDataset(T(9), prefetch_buffer_size=3)
thread-prefetch-filter :: X.ThreadPrefetchIterDataset(T(9).filter(lambda x: x % 2).batch(2), prefetch_buffer_size=1)
multithread :: X.multithread_prefetch(T(9).map(lambda x: x + 1), num_threads=2, buffer_size=2)
multithread-none :: X.multithread_prefetch(T(9).map(lambda x: x + 1), num_threads=0, buffer_size=2)
options :: X.WithOptionsIterDataset(T(6).filter(lambda x: x % 2), X.DatasetOptions(filter_warn_threshold_ratio=None))
prefetch-inline :: T(9).batch(2).mp_prefetch(grain.MultiprocessingOptions(num_workers=0))
prefetch-inline-old :: T(9).batch(2).prefetch(grain.MultiprocessingOptions(num_workers=0))
window-of-filter :: X.WindowShuffleIterDataset(T(20).filter(lambda x: x % 3), window_size=5, seed=3)
window-of-batch :: X.WindowShuffleIterDataset(T(20).batch(3), window_size=4, seed=3)
window-of-map :: X.WindowShuffleIterDataset(MAP.range(10), window_size=3, seed=1)
window-empty :: X.WindowShuffleIterDataset(T(0), window_size=3, seed=1)
window-window :: X.WindowShuffleIterDataset(X.WindowShuffleIterDataset(T(12), window_size=3, seed=1), window_size=6, seed=2)
"""


def grids() -> list[Case]:
    """Windows and cycles of every size."""
    out = []
    for w in (1, 2, 3, 4, 7, 8, 10, 16, 39, 40, 41, 100):
        for s in (0, 5):
            out.append(
                Case(
                    f"window-shuffle-iter-w{w}-s{s}",
                    f"X.WindowShuffleIterDataset(T(40), window_size={w}, seed={s})",
                    SETUP,
                )
            )
            out.append(
                Case(
                    f"window-shuffle-map-w{w}-s{s}",
                    f"X.WindowShuffleMapDataset(MAP.range(40), window_size={w}, seed={s})",
                    SETUP,
                )
            )
    for lens in ((3, 4, 5, 6), (3, 4, 0, 2, 3), (0, 0, 2), (1, 1, 1, 1), (5,), (0, 0), (7, 1, 1, 1, 7)):
        for c in (1, 2, 3, 4, 5, 10):
            name = "-".join(map(str, lens))
            out.append(
                Case(f"interleave-{name}-c{c}", f"X.InterleaveIterDataset(parts(*{lens}), cycle_length={c})", SETUP)
            )
    return out


CASES = table("iter", PLAIN, SETUP) + grids()
