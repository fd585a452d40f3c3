"""The state after each element, and resuming from each of them."""

from case import Case, expand

SETUP = """
import json
class Split(grain.experimental.FlatMapTransform):
    max_fan_out = 4
    def flat_map(self, x): return [x * 10 + j for j in range(x % 4)]
def T(*a): return grain.MapDataset.range(*a).to_iter_dataset()
def docs(*lens): return grain.MapDataset.source([{'x': np.arange(1, n + 1) + 100 * i} for i, n in enumerate(lens)]).to_iter_dataset()
def states(ds, n=30):
    it = iter(ds)
    out = [json.dumps(it.get_state())]
    for _ in itertools.islice(it, n):
        out.append(json.dumps(it.get_state()))
    return [json.loads(s) for s in out]
def resumed(ds, n=30):
    '''For each position: do the rest of the elements come, from a new iterator that got the state taken there?'''
    it = iter(ds)
    saved, seen = [it.get_state()], []
    saved = [json.dumps(it.get_state())]
    for x in itertools.islice(it, n):
        seen.append(repr(x))
        saved.append(json.dumps(it.get_state()))
    out = []
    for i, s in enumerate(saved):
        again = iter(ds)
        again.set_state(json.loads(s))
        out.append([repr(x) for x in itertools.islice(again, n - i)] == seen[i:])
    return out
def loader(ops, n=9, shuffle=True, epochs=1):
    s = grain.samplers.IndexSampler(n, shard_options=grain.sharding.NoSharding(), shuffle=shuffle, num_epochs=epochs, seed=1)
    return grain.DataLoader(data_source=list(range(n)), sampler=s, operations=ops, read_options=grain.ReadOptions(0, 0))
def loader_states(dl, n=12):
    it = iter(dl)
    out = [json.loads(it.get_state())]
    for _ in itertools.islice(it, n):
        out.append(json.loads(it.get_state()))
    return out
def loader_resumed(dl, n=30):
    it = iter(dl)
    saved, seen = [it.get_state()], []
    for x in itertools.islice(it, n):
        seen.append(repr(x))
        saved.append(it.get_state())
    out = []
    for i, s in enumerate(saved):
        again = iter(dl)
        again.set_state(s)
        out.append([repr(x) for x in itertools.islice(again, n - i)] == seen[i:])
    return out
class Odd(grain.transforms.Filter):
    def filter(self, x): return x % 2 == 1
class Noise(grain.transforms.RandomMap):
    def random_map(self, x, rng): return x * 1000 + rng.integers(1000)
"""

PIPELINES = {
    "map-dataset": "MAP.range(5).shuffle(seed=1)",
    "to-iter": "T(5)",
    "map-filter": "MAP.range(9).filter(lambda x: x % 3).to_iter_dataset()",
    "iter-map": "T(5).map(lambda x: x + 1)",
    "iter-filter": "T(9).filter(lambda x: x % 3)",
    "random-map": "T(5).random_map(lambda x, r: int(r.integers(99)), seed=1)",
    "map-with-index": "T(5).map_with_index(lambda i, x: (i, x))",
    "filter-index": "T(9).filter(lambda x: x % 3).map_with_index(lambda i, x: (i, x))",
    "batch": "T(8).batch(3)",
    "batch-drop": "T(8).batch(3, drop_remainder=True)",
    "filter-batch": "T(20).filter(lambda x: x % 3).batch(3)",
    "map-batch": "MAP.range(8).batch(3).to_iter_dataset()",
    "mix": "ITER.mix([T(5), T(10, 15)], weights=[2, 1])",
    "mix-dict": "ITER.mix({'b': T(5), 'a': T(10, 15)})",
    "mix-stops": "ITER.mix([T(2), T(10, 15)])",
    "flat-map": "X.FlatMapIterDataset(T(7), Split())",
    "window": "X.WindowShuffleIterDataset(T(10), window_size=4, seed=1)",
    "window-filter": "X.WindowShuffleIterDataset(T(10).filter(lambda x: x % 3), window_size=4, seed=1)",
    "zip": "X.ZipIterDataset([T(4), T(10, 14)])",
    "limit": "X.LimitIterDataset(T(9), 4)",
    "repeat": "X.RepeatIterDataset(T(3), 2)",
    "cache": "X.CacheIterDataset(T(4))",
    "rebatch-down": "X.RebatchIterDataset(T(10).batch(4), batch_size=3)",
    "rebatch-up": "X.RebatchIterDataset(T(10).batch(3), batch_size=4)",
    "first-fit": "X.FirstFitPackIterDataset(docs(5, 3, 8, 2, 9, 1, 4, 7, 6, 2), length_struct={'x': 10}, num_packing_bins=3, seed=3)",
    "best-fit": "X.BestFitPackIterDataset(docs(5, 3, 8, 2, 9, 1, 4, 7, 6, 2), length_struct={'x': 10}, num_packing_bins=3, seed=3)",
    "options": "X.WithOptionsIterDataset(T(4), X.DatasetOptions())",
    "thread-prefetch": "X.ThreadPrefetchIterDataset(T(5), prefetch_buffer_size=2)",
    "interleave": "X.InterleaveIterDataset([T(3), T(10, 14), T(0), T(20, 22), T(30, 33)], cycle_length=2)",
    "batch-random-index": "T(9).batch(2).random_map(lambda x, r: r.permutation(x), seed=1).map_with_index(lambda i, x: (i, x))",
    "repeat-limit-batch": "X.RepeatIterDataset(X.LimitIterDataset(T(9).batch(2), 2), 2)",
    "window-of-mix": "X.WindowShuffleIterDataset(ITER.mix([T(5), T(10, 15)]), window_size=3, seed=2)",
}
ONLY_RESUMED = {
    "split": "X.ConcatThenSplitIterDataset(docs(5, 3, 8, 2, 9, 1, 4, 17, 6, 2), length_struct={'x': 8}).map(lambda d: d['x'].tolist())",
}
LOADERS = (
    "[]",
    "[TR.Batch(2)]",
    "[Odd()]",
    "[Odd(), TR.Batch(2)]",
    "[Noise()]",
    "[Noise(), TR.Batch(4, drop_remainder=True)]",
)


def cases() -> list[Case]:
    """States as they are, and whether each of them resumes."""
    out = []
    for name, expr in PIPELINES.items():
        out.append(Case(f"state-{name}", expand(f"states({expr})"), SETUP))
        out.append(Case(f"resume-{name}", expand(f"resumed({expr})"), SETUP))
    for ops in LOADERS:
        out.append(Case(f"state-loader-{ops}", expand(f"loader_states(loader({ops}))"), SETUP))
        out.append(Case(f"resume-loader-{ops}", expand(f"loader_resumed(loader({ops}, epochs=2))"), SETUP))
    return out


CASES = cases()
