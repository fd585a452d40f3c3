"""DataLoader, load and the samplers: sharding, epochs, transformations and the older operations, without workers."""

import itertools

from case import Case, expand, table

SETUP = """
class Add(grain.transforms.Map):
    def map(self, x): return x + 1
class Odd(grain.transforms.Filter):
    def filter(self, x): return x % 2 == 1
class Noise(grain.transforms.RandomMap):
    def random_map(self, x, rng): return x * 1000 + rng.integers(1000)
class Twice(grain.experimental.FlatMapTransform):
    max_fan_out = 2
    def flat_map(self, x): return [x, -x]
class Some(grain.experimental.FlatMapTransform):
    max_fan_out = 3
    def flat_map(self, x): return [x] * (x % 3)
class Maybe(grain.transforms.Map):
    def map(self, x): return None if x % 3 == 0 else x
class Backwards:
    def __getitem__(self, i):
        if i >= 8: raise IndexError(i)
        return grain.RecordMetadata(index=i, record_key=7 - i, rng=None)
def loader(n, ops=(), shard=None, shuffle=False, epochs=1, seed=None):
    s = grain.samplers.IndexSampler(n, shard_options=shard or grain.sharding.NoSharding(), shuffle=shuffle, num_epochs=epochs, seed=seed)
    return grain.DataLoader(data_source=list(range(n)), sampler=s, operations=ops, read_options=grain.ReadOptions(0, 0))
def fields(m): return (m.index, m.record_key, None if m.rng is None else int(m.rng.integers(1 << 60)))
"""


def samplers() -> list[Case]:
    """Every shard with and without shuffling and remainder, read as the loader reads it."""
    out = []
    for (index, count), drop, shuffle in itertools.product(
        ((0, 1), (0, 2), (1, 2), (0, 3), (2, 3), (3, 4)), (False, True), (False, True)
    ):
        shard = f"grain.sharding.ShardOptions({index}, {count}, drop_remainder={drop})"
        sampler = f"s = grain.samplers.IndexSampler(11, shard_options={shard}, shuffle={shuffle}, num_epochs=2, seed=5)"
        name = f"{count}-{index}-{drop}-{shuffle}"
        expr = f"[fields(s[i]) for i in range({index}, {11 // count * 2 * count - count}, {count})]"
        out.append(Case(f"index-sampler-{name}", expr, f"{SETUP}{sampler}"))
        loader = "grain.DataLoader(data_source=list(range(100, 111)), sampler=s, operations=[grain.transforms.Batch(2)], read_options=grain.ReadOptions(0, 0))"
        out.append(Case(f"loader-{name}", loader, sampler))
        out.append(
            Case(
                f"loader-noise-{name}",
                loader.replace("[grain.transforms.Batch(2)]", "[Add(), Noise()]"),
                f"{SETUP}{sampler}",
            )
        )
        call = f"grain.load(list(range(11)), num_epochs=2, shuffle={shuffle}, seed=3, shard_options={shard}, transformations=[Add()], batch_size=4, drop_remainder={drop})"
        out.append(Case(f"load-shard-{name}", call, SETUP))
    return out


OPS = (
    "Add()",
    "Odd()",
    "Twice()",
    "Some()",
    "Add(), Odd()",
    "Odd(), Add(), Odd()",
    "Noise()",
    "Add(), Noise()",
    "Noise(), Noise()",
    "Odd(), Noise()",
    "Some(), Odd()",
    "TR.Batch(3)",
    "TR.Batch(3, drop_remainder=True)",
    "TR.Batch(2, batch_fn=sum)",
    "Odd(), TR.Batch(3)",
    "Odd(), Noise(), TR.Batch(3)",
    "Twice(), TR.Batch(3)",
    "Some(), TR.Batch(4, drop_remainder=True)",
    "TR.Batch(2), TR.Batch(2)",
    "TR.Batch(3), Add()",
    "TR.Batch(4), Noise()",
    "grain.python.MapOperation(lambda x: x * 2)",
    "grain.python.FilterOperation(lambda x: x % 2 == 0)",
    "grain.python.RandomMapOperation(lambda x, rng: x + rng.integers(100))",
    "grain.python.BatchOperation(3)",
    "grain.python.BatchOperation(3, drop_remainder=True)",
    "grain.python.MapOperation(lambda x: x * 2), grain.python.FilterOperation(lambda x: x % 4 == 0), grain.python.BatchOperation(2)",
)


def operations() -> list[Case]:
    """Each list of operations through load, shuffled and not."""
    out = []
    for ops, shuffle in itertools.product(OPS, (False, True)):
        call = f"grain.load(list(range(14)), num_epochs=2, shuffle={shuffle}, seed=6, transformations=[{ops}], read_options=READ0)"
        out.append(Case(f"load-{ops}-{shuffle}", expand(call), SETUP))
    for ops in OPS[:7]:
        out.append(Case(f"apply-{ops}", f"grain.MapDataset.range(14).seed(3).apply([{expand(ops)}])", SETUP))
        out.append(
            Case(
                f"apply-iter-{ops}",
                f"grain.MapDataset.range(14).seed(3).to_iter_dataset().apply([{expand(ops)}])",
                SETUP,
            )
        )
    return [c for c in out if not (c.name.startswith("apply-iter") and "Odd(), Noise" in c.name)]


PLAIN = """
sequential :: [fields(m) for m in (grain.samplers.SequentialSampler(9)[i] for i in range(9))]
sequential-seed :: [fields(m) for m in (grain.samplers.SequentialSampler(9, seed=2)[i] for i in range(9))]
sequential-shard :: [fields(m) for m in (grain.samplers.SequentialSampler(9, grain.sharding.ShardOptions(1, 2), seed=2)[i] for i in (1, 3, 5, 7))]
no-seed :: [fields(m) for m in (grain.samplers.IndexSampler(5, num_epochs=1)[i] for i in range(5))]
far-index :: [fields(m) for m in (grain.samplers.IndexSampler(5, shuffle=True, seed=1)[i] for i in (0, 5, 10, 49, 10**6))]
seed-zero :: [fields(m) for m in (grain.samplers.IndexSampler(5, shuffle=True, seed=0, num_epochs=2)[i] for i in range(10))]
sampler-repr :: [repr(grain.samplers.IndexSampler(5)), repr(grain.samplers.IndexSampler(5, grain.sharding.ShardOptions(1, 2), shuffle=True, num_epochs=3, seed=7)), repr(grain.samplers.SequentialSampler(4))]
shard-repr :: [repr(grain.sharding.ShardOptions(1, 4)), str(grain.sharding.ShardOptions(shard_index=0, shard_count=2, drop_remainder=True))]
shard-equal :: [grain.sharding.ShardOptions(0, 2) == grain.sharding.ShardOptions(0, 2), grain.sharding.ShardOptions(0, 2) == grain.sharding.ShardOptions(1, 2), grain.sharding.NoSharding() == grain.sharding.NoSharding()]
metadata-repr :: [repr(grain.RecordMetadata(3)), repr(grain.RecordMetadata(3, 4)), repr(grain.RecordMetadata(index=3, record_key=4).remove_record_key())]
record-repr :: repr(grain.Record(grain.RecordMetadata(3, 4), 'data'))
metadata-equal :: [grain.RecordMetadata(3, 4) == grain.RecordMetadata(3, 4), grain.RecordMetadata(3, 4) == grain.RecordMetadata(3)]
loader-plain :: loader(5)
loader-epochs :: loader(5, epochs=3)
loader-forever :: loader(3, epochs=None)
loader-forever-shuffled :: loader(5, epochs=None, shuffle=True, seed=2)
loader-strings :: grain.DataLoader(data_source='hello', sampler=grain.samplers.SequentialSampler(5))
loader-arrays :: grain.DataLoader(data_source=np.arange(8).reshape(4, 2), sampler=grain.samplers.SequentialSampler(4), operations=[TR.Batch(3)])
loader-fewer :: grain.DataLoader(data_source=list(range(10)), sampler=grain.samplers.SequentialSampler(4))
loader-default-read :: grain.DataLoader(data_source=list(range(10)), sampler=grain.samplers.IndexSampler(10, shuffle=True, seed=1, num_epochs=1), operations=[Add(), TR.Batch(4)])
loader-tree :: grain.DataLoader(data_source=[{'a': i, 'b': np.arange(2) + i} for i in range(5)], sampler=grain.samplers.SequentialSampler(5), operations=[TR.Batch(2)])
loader-range-source :: grain.DataLoader(data_source=grain.sources.RangeDataSource(10, 20, 2), sampler=grain.samplers.SequentialSampler(5))
loader-odd-epochs :: loader(7, [Odd(), TR.Batch(2)], epochs=3, shuffle=True, seed=9)
loader-none :: loader(9, [Maybe()])
loader-twice :: (lambda d: [list(d), list(d)])(loader(5, shuffle=True, seed=1))
sampler-iterated :: [fields(m) for m in grain.samplers.IndexSampler(3, num_epochs=2)]
sampler-len :: [len(grain.samplers.IndexSampler(3)), len(grain.samplers.IndexSampler(3, num_epochs=2)), len(grain.samplers.SequentialSampler(3)), len(grain.samplers.IndexSampler(10, grain.sharding.ShardOptions(1, 3), num_epochs=1))]
shard-of-both :: grain.DataLoader(data_source=list(range(8)), sampler=grain.samplers.IndexSampler(8, grain.sharding.ShardOptions(1, 2), num_epochs=1), shard_options=grain.sharding.ShardOptions(0, 2))
shard-of-loader :: grain.DataLoader(data_source=list(range(8)), sampler=grain.samplers.IndexSampler(8, num_epochs=1, shuffle=True, seed=1), shard_options=grain.sharding.ShardOptions(1, 2))
own-sampler :: grain.DataLoader(data_source=list(range(8)), sampler=Backwards(), shard_options=grain.sharding.NoSharding())
own-sampler-shard :: grain.DataLoader(data_source=list(range(8)), sampler=Backwards(), shard_options=grain.sharding.ShardOptions(1, 2), operations=[TR.Batch(2)])
own-operation :: loader(5, [lambda it: (grain.Record(r.metadata, r.data * 2) for r in it)])
own-operation-metadata :: loader(5, [lambda it: (grain.Record(r.metadata, (r.metadata.index, r.metadata.record_key)) for r in it)], shuffle=True, seed=3)
metadata-after-batch :: loader(5, [TR.Batch(2), lambda it: (grain.Record(r.metadata, (r.metadata.index, r.metadata.record_key)) for r in it)])
metadata-after-flat :: loader(3, [Twice(), lambda it: (grain.Record(r.metadata, (r.metadata.index, r.metadata.record_key)) for r in it)])
load-plain :: grain.load(list(range(4)), num_epochs=1)
load-forever :: grain.load(list(range(4)))
load-shuffle :: grain.load(list(range(9)), num_epochs=2, shuffle=True, seed=1)
load-batch :: grain.load(list(range(9)), num_epochs=1, batch_size=4)
load-batch-drop :: grain.load(list(range(9)), num_epochs=1, batch_size=4, drop_remainder=True)
load-batch-epochs :: grain.load(list(range(9)), num_epochs=2, batch_size=4)
load-batch-after :: grain.load(list(range(9)), num_epochs=1, transformations=[Odd(), TR.Batch(2)], batch_size=2)
load-big-shuffle :: grain.load(range(1000), num_epochs=1, shuffle=True, seed=12)
load-seed-none-noise :: grain.load(list(range(4)), num_epochs=1, seed=0, transformations=[Noise()])
"""

CASES = samplers() + operations() + table("loader", PLAIN, SETUP)
