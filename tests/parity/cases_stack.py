"""Batching: how leaves are stacked, which structures are allowed, lengths and remainders."""

from case import Case, expand, table

SETUP = """
import collections, dataclasses
P = collections.namedtuple("P", "x y")
@dataclasses.dataclass
class D:
    x: object
def spread(x):
    return sorted((k, v.tolist(), str(v.dtype)) for k, v in x.items())
"""

LEAVES = {
    "int": "i",
    "negative": "-i",
    "float": "float(i)",
    "bool": "i % 2 == 0",
    "str": "'a' * (i + 1)",
    "empty-str": "''",
    "unicode": "'\\u00e9' * i",
    "bytes": "b'a' * (i + 1)",
    "complex": "complex(i, 1)",
    "big-int": "2**62 + i",
    "uint64": "2**63 + i",
    "python-int-too-big": "2**64 + i",
    "f16": "np.float16(i)",
    "u8": "np.uint8(i)",
    "bool-": "np.bool_(i % 2)",
    "datetime": "np.datetime64('2020-01-01') + i",
    "array": "np.arange(3) + i",
    "array-2d": "np.full((2, 2), i, np.int16)",
    "array-0d": "np.array(i, np.float32)",
    "array-empty": "np.zeros((0, 3), np.float32)",
    "array-str": "np.array(['a' * i, 'b'])",
    "array-object": "np.array([i, 'x'], dtype=object)",
    "array-bool": "np.array([True, i > 1])",
    "array-transposed": "np.arange(6).reshape(2, 3).T + i",
    "int-or-float": "i if i % 2 else float(i)",
    "int-or-bool": "i if i % 2 else True",
    "int-or-str": "i if i % 2 else str(i)",
    "int-or-f32": "i if i % 2 else np.float32(i)",
    "i8-or-i32": "np.int8(i) if i % 2 else np.int32(i)",
    "i8-or-f64-array": "np.zeros(2, np.int8) if i % 2 else np.ones(2)",
    "range-leaf": "range(3)",
    "bytearray": "bytearray(b'ab')",
    "set": "{i}",
    "dataclass": "D(i)",
    "list": "[i, i * 2.0]",
    "tuple": "(i, str(i))",
    "nested": "{'a': {'b': [np.arange(3) + i, np.float32(i)]}, 'c': (i,)}",
    "dict-order": "{'b': i, 'a': -i, 'c': str(i)}",
    "dict-int-keys": "{2: i, 10: i + 1, 1: i + 2}",
    "dict-other-order": "{'a': 1, 'b': 2} if i % 2 else {'b': 1, 'a': 5}",
    "namedtuple": "P(i, {'q': i})",
    "empty-dict": "{}",
    "empty-list": "[]",
    "empty-tuple": "()",
    "empty-inside": "{'a': {}, 'b': i, 'c': [], 'd': ()}",
    "none-leaf": "{'a': None, 'b': i}",
    "none-in-list": "[None, i]",
    "none-in-tuple": "(i, None, (None, i))",
    "none-second": "{'a': None if i % 2 else i}",
    "leaf-then-dict": "{'a': 1} if i % 2 else 1",
    "mixed-tree": "{'x': np.full((2, 2), i, np.int16), 'y': (i, float(i)), 's': str(i), 'b': bytes([65 + i])}",
    "scalars": "{'t': i % 2 == 0, 'f16': np.float16(i), 'u8': np.uint8(i), 'c': complex(i, 1)}",
    "long-double-free": "{'f': np.float64(i) / 3, 'g': i / 3}",
}


def leaves() -> list[Case]:
    """Every kind of element in a batch of both kinds of dataset."""
    out = []
    for name, leaf in LEAVES.items():
        base = f"grain.MapDataset.range(5).map(lambda i: {leaf})"
        out.append(Case(f"stack-{name}", f"{base}.batch(2)", SETUP))
        if name not in ("set", "dataclass"):
            out.append(Case(f"stack-iter-{name}", f"{base}.to_iter_dataset().batch(2, drop_remainder=True)", SETUP))
    return out


def sizes() -> list[Case]:
    """Batch sizes around the length, with and without remainder, before and after repeat."""
    out = []
    for b in (1, 2, 3, 4, 5, 9, 10, 11, 100):
        for drop in (False, True):
            call = f"batch({b}, drop_remainder={drop})"
            rows = {
                f"batch-{b}-{drop}": f"MAP.range(10).{call}",
                f"batch-repeat-{b}-{drop}": f"MAP.range(10).shuffle(seed=1).{call}.repeat(2)",
                f"repeat-batch-{b}-{drop}": f"MAP.range(10).shuffle(seed=1).repeat(2).{call}",
                f"batch-iter-{b}-{drop}": f"MAP.range(10).to_iter_dataset().{call}",
                f"filter-batch-iter-{b}-{drop}": f"MAP.range(30).filter(lambda x: x % 3).to_iter_dataset().{call}",
                f"apply-batch-{b}-{drop}": f"MAP.range(10).apply(TR.Batch({b}, drop_remainder={drop}))",
            }
            out += [Case(name, expand(expr)) for name, expr in rows.items()]
    return out


MORE = """
fn :: MAP.range(7).batch(3, batch_fn=lambda xs: sum(xs))
fn-type :: MAP.range(7).batch(3, batch_fn=lambda xs: (type(xs).__name__, len(xs)))
fn-iter-type :: MAP.range(7).to_iter_dataset().batch(3, batch_fn=lambda xs: (type(xs).__name__, len(xs)))
fn-list :: MAP.range(7).batch(3, drop_remainder=True, batch_fn=list)
fn-none :: MAP.range(7).batch(3, batch_fn=lambda xs: None)
fn-iter-none :: MAP.range(7).to_iter_dataset().batch(3, batch_fn=lambda xs: None)
fn-ragged :: MAP.range(1, 6).map(lambda i: np.zeros(i)).batch(2, batch_fn=lambda xs: [len(x) for x in xs])
fn-apply :: MAP.range(7).apply(TR.Batch(3, batch_fn=max))
fn-apply-iter :: MAP.range(7).to_iter_dataset().apply([TR.Batch(3, batch_fn=max)])
past :: [MAP.range(5).batch(2)[i] for i in (2, 3, 4, 5, 8)]
past-shuffled :: [MAP.range(5).shuffle(seed=1).batch(2)[i] for i in (2, 3, 4, 5, -1)]
of-batches :: MAP.range(12).batch(2).batch(3)
of-batches-short :: MAP.range(5).batch(2).batch(2)
of-batches-iter :: MAP.range(13).to_iter_dataset().batch(2, drop_remainder=True).batch(3)
map-batch :: MAP.range(7).batch(3).map(lambda x: x * 2)
batch-shuffle :: MAP.range(12).batch(3).shuffle(seed=2)
batch-filter :: MAP.range(12).batch(3).filter(lambda x: x.sum() % 2)
batch-slices :: MAP.range(30).shuffle(seed=5).batch(4)[1::3]
batch-mix :: MAP.mix([MAP.range(6).batch(2), MAP.range(10, 16).batch(2)])
batch-concat :: MAP.concatenate([MAP.range(5).batch(2), MAP.range(10, 13).batch(2)])
empty :: MAP.range(0).batch(2)
empty-iter :: MAP.range(0).to_iter_dataset().batch(2)
list-source :: MAP.source([[1, 2], [3, 4], [5, 6]]).batch(2)
tuple-source :: MAP.source([(1, 2), (3, 4), (5, 6)]).batch(2)
str-source :: MAP.source(['ab', 'c', '']).batch(2)
str-is-source :: MAP.source('abc').batch(2)
bytes-is-source :: MAP.source(b'abc').batch(2)
array-source :: MAP.source(np.arange(12, dtype=np.float32).reshape(6, 2)).batch(4)
int8-source :: MAP.source(np.arange(5, dtype=np.int8)).batch(2)
all-none :: MAP.range(6).map(lambda x: None).batch(2)
first-not-none :: MAP.range(6).map(lambda x: None if x % 2 else x).batch(2)
first-not-none-iter :: MAP.range(6).to_iter_dataset().map(lambda x: None if x % 2 else x).batch(2)
filter-iter-batch :: MAP.range(20).to_iter_dataset().filter(lambda x: x % 3).batch(4)
map-filter-batch :: MAP.range(50).shuffle(seed=2).filter(lambda x: x % 3).to_iter_dataset().batch(4)
flat-batch :: X.FlatMapIterDataset(MAP.range(6).to_iter_dataset(), Twice()).batch(4)
and-pad :: [X.batch_and_pad([1, 2, 3], batch_size=5)]
and-pad-value :: [X.batch_and_pad([np.arange(2), np.arange(2)], batch_size=3, pad_value=-1)]
and-pad-full :: [X.batch_and_pad([1.5, 2.5], batch_size=2, pad_value=7)]
and-pad-tree :: [X.batch_and_pad([{'a': i, 'b': np.arange(2) + i} for i in range(3)], batch_size=4, pad_value=9)]
and-pad-fn :: MAP.range(7).batch(3, batch_fn=functools.partial(X.batch_and_pad, batch_size=3, pad_value=-1))
big-endian-source :: [[str(b.dtype) for b in MAP.source(a).batch(n)] for a in (np.arange(8, dtype='>i4').reshape(4, 2), np.arange(4, dtype='>i4')) for n in (1, 2, 3)]
big-endian-map :: [[str(b.dtype) for b in MAP.range(4).map(lambda i: np.full(3, i, '>i4')).batch(n)] for n in (1, 2, 3)]
big-endian-pack :: [[str(b['x'].dtype) for b in X.FirstFitPackIterDataset(MAP.range(6).map(lambda i: {'x': np.full(3, i, '>i4')}).to_iter_dataset(), length_struct={'x': 4}, num_packing_bins=3, shuffle_bins=False).batch(n)] for n in (1, 2, 4)]
big-endian-pad :: [str(X.batch_and_pad([np.zeros(2, '>f4')] * n, batch_size=size).dtype) for n, size in ((1, 1), (1, 2), (2, 2), (2, 3))]
structured-in-a-tuple :: [str(leaf.tolist()) for leaf in MAP.range(4).map(lambda i: (np.full(3, i, [('a', 'f4'), ('b', 'i4')]), i)).batch(2)[0]]
rebatch-up :: X.RebatchIterDataset(MAP.range(20).batch(3).to_iter_dataset(), batch_size=8)
rebatch-down :: X.RebatchIterDataset(MAP.range(20).batch(8).to_iter_dataset(), batch_size=3)
rebatch-one :: X.RebatchIterDataset(MAP.range(5).batch(3).to_iter_dataset(), batch_size=1)
rebatch-same :: X.RebatchIterDataset(MAP.range(9).batch(3).to_iter_dataset(), batch_size=3)
rebatch-drop :: X.RebatchIterDataset(MAP.range(20).batch(3).to_iter_dataset(), 8, True)
rebatch-all :: X.RebatchIterDataset(MAP.range(10).batch(4).to_iter_dataset(), batch_size=100)
rebatch-all-drop :: X.RebatchIterDataset(MAP.range(10).batch(4).to_iter_dataset(), batch_size=100, drop_remainder=True)
rebatch-tree :: X.RebatchIterDataset(MAP.range(5).map(lambda i: {'a': np.arange(2) + i, 'b': {'c': np.ones((2, 3)) * i}}).to_iter_dataset(), batch_size=3)
rebatch-uneven :: X.RebatchIterDataset(MAP.range(1, 6).map(lambda i: (np.arange(i), np.arange(i) * 2)).to_iter_dataset(), batch_size=4)
rebatch-dtypes :: X.RebatchIterDataset(MAP.range(4).map(lambda i: np.full(2, i, np.int8 if i % 2 else np.float32)).to_iter_dataset(), batch_size=3)
rebatch-of-map :: X.RebatchIterDataset(MAP.range(10).batch(4), batch_size=3)
rebatch-empty :: X.RebatchIterDataset(MAP.range(0).batch(4).to_iter_dataset(), batch_size=3)
"""

TWICE = """
class Twice(grain.experimental.FlatMapTransform):
    max_fan_out = 2
    def flat_map(self, x): return [x, -x]
"""

CASES = leaves() + sizes() + table("batch", MORE, TWICE)
