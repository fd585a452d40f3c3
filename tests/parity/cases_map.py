"""MapDataset: permutations, seeds, random maps, slices, repeats, mixes, and what lies past the end."""

from case import Case, expand, table

RANGE = "grain.MapDataset.range"
SEEDS = (0, 1, 42, 2**32 - 1)
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 15, 16, 17, 31, 64, 100, 255, 256, 257, 1000, 4096, 65535, 65536, 65537, 70001)
BIG = (10**6, 2**20, 2**24 + 3, 10**9, 2**31, 2**32 - 1, 3 * 10**12, 10**15)


def shuffles() -> list[Case]:
    """Every size with every seed, the first of them several epochs long."""
    out = [Case(f"shuffle-n{n}-s{s}", f"{RANGE}({n}).shuffle(seed={s})", take=48) for n in SIZES for s in SEEDS]
    for n in BIG:
        for s in (3, 2**31, 2**32 - 1):
            at = f"(0, 1, 17, {n}//2, {n}-1, {n}, {n}+5)"
            out.append(Case(f"shuffle-big-n{n}-s{s}", f"[{RANGE}({n}).shuffle(seed={s})[i] for i in {at}]"))
    for n, s in ((5, 0), (11, 7), (100, 99), (7, 2**32 - 2)):
        base = f"{RANGE}({n})"
        out += [
            Case(f"shuffle-repeat-n{n}", f"{base}.shuffle(seed={s}).repeat(4)", take=4 * n),
            Case(
                f"shuffle-repeat-same-n{n}", f"{base}.shuffle(seed={s}).repeat(3, reseed_each_epoch=False)", take=3 * n
            ),
            Case(f"repeat-shuffle-n{n}", f"{base}.repeat(2).shuffle(seed={s})", take=2 * n),
            Case(f"shuffle-shuffle-n{n}", f"{base}.shuffle(seed={s}).shuffle(seed=1).repeat(2)", take=2 * n),
            Case(f"shuffle-forever-n{n}", f"{base}.shuffle(seed={s}).repeat()", take=3 * n),
        ]
    for n in (2, 5, 100, 12345, 2**16, 2**20 + 7):
        for rounds in (4, 6, 8):
            call = f"grain.experimental.index_shuffle(i, max_index={n}-1, seed=9, rounds={rounds})"
            out.append(Case(f"index-shuffle-n{n}-r{rounds}", f"[{call} for i in range(min(30, {n}))]"))
    return out


def seeds() -> list[Case]:
    """Seeds derived from `seed(s)` for each place where a random transformation can stand."""
    rows = {
        "shuffle": "MAP.range(30).seed({s}).shuffle()",
        "map-shuffle": "MAP.range(30).seed({s}).map(lambda x: x + 1).shuffle()",
        "shuffle-repeat": "MAP.range(9).seed({s}).shuffle().repeat(3)",
        "random-map": "MAP.range(12).seed({s}).random_map(lambda x, rng: x + rng.integers(1000))",
        "shuffle-random": "MAP.range(12).seed({s}).shuffle().random_map(lambda x, rng: (x, float(rng.random())))",
        "random-random": "MAP.range(8).seed({s}).random_map(lambda x, r: int(r.integers(99)))"
        ".random_map(lambda x, r: (x, int(r.integers(99))))",
        "reset": "MAP.range(12).seed({s}).shuffle().seed({s} + 1).random_map(lambda x, rng: (x, int(rng.integers(1 << 30))))",
        "mix": "MAP.mix([MAP.range(9).seed({s}).shuffle(), MAP.range(100, 109).seed({s} + 5).shuffle()])"
        ".random_map(lambda x, rng: (x, int(rng.integers(1 << 30))))",
        "mix-shuffle": "MAP.mix([MAP.range(9).seed({s}), MAP.range(100, 109).seed({s} + 5)]).shuffle()",
        "mix-one-seed": "MAP.mix([MAP.range(9).seed({s}), MAP.range(100, 109)]).shuffle()",
        "mix-uneven-depth": "MAP.mix([MAP.range(9).seed({s}), MAP.range(100, 109).seed(3).map(abs).map(abs)]).shuffle()",
        "concat": "MAP.concatenate([MAP.range(5).seed({s}).shuffle(), MAP.range(10, 15).seed({s}).shuffle()]).shuffle()",
        "zip": "X.ZipMapDataset([MAP.range(6).seed({s}).shuffle(), MAP.range(6).seed({s}).map(abs).shuffle()])",
        "seed-on-mix": "MAP.mix([MAP.range(9).shuffle(seed=1), MAP.range(100, 109)]).seed({s}).shuffle()",
        "batch": "MAP.range(12).seed({s}).shuffle().batch(4).random_map(lambda x, rng: x + rng.integers(1000))",
        "slice": "MAP.range(12).seed({s})[2:].shuffle()",
        "iter-random": "MAP.range(12).seed({s}).to_iter_dataset().random_map(lambda x, rng: x + rng.integers(1000))",
        "iter-seed": "MAP.range(12).to_iter_dataset().seed({s}).random_map(lambda x, rng: x + rng.integers(1000))",
        "iter-two": "MAP.range(9).seed({s}).shuffle().to_iter_dataset().random_map(lambda x, r: (x, int(r.integers(99))))"
        ".random_map(lambda x, r: (x, int(r.integers(99))))",
        "iter-mix": "ITER.mix([MAP.range(9).seed({s}).shuffle().to_iter_dataset(), MAP.range(50, 59).seed(2)"
        ".to_iter_dataset()]).random_map(lambda x, r: (x, int(r.integers(99))))",
    }
    return [
        Case(f"seed-{name}-{s}", expand(row.format(s=s)))
        for name, row in rows.items()
        for s in (0, 1, 42, 1234567, 2**32 - 2)
    ]


def random_maps() -> list[Case]:
    """What the generator of an element gives, by method, seed and index."""
    draws = {
        "ints": "rng.integers(0, 1 << 60)",
        "normal": "rng.normal(size=3)",
        "random": "rng.random()",
        "float32": "rng.random(3, dtype=np.float32)",
        "standard-normal-f32": "rng.standard_normal(2, dtype=np.float32)",
        "int32": "rng.integers(0, 1 << 20, size=3, dtype=np.int32)",
        "uint8": "rng.integers(0, 256, size=5, dtype=np.uint8)",
        "bytes": "rng.bytes(6)",
        "choice": "rng.choice(10, size=4, replace=False)",
        "choice-p": "rng.choice([5, 6, 7], p=[.2, .3, .5])",
        "permutation": "rng.permutation(6)",
        "permuted": "rng.permuted(np.arange(6).reshape(2, 3), axis=1)",
        "uniform": "rng.uniform(-1, 1)",
        "exponential": "rng.exponential()",
        "poisson": "rng.poisson(4)",
        "beta": "rng.beta(2, 3)",
        "two-draws": "(int(rng.integers(100)), float(rng.random()))",
    }
    out = [
        Case(f"random-map-{name}-{s}", f"{RANGE}(8).random_map(lambda x, rng: {draw}, seed={s})")
        for name, draw in draws.items()
        for s in (0, 7, 2**32 - 1)
    ]
    noise = "random_map(lambda x, rng: int(rng.integers(1 << 30)), seed={s})"
    rows = {
        "random-map-repeat": "MAP.range(4).{n}.repeat(3)",
        "random-map-repeat-same": "MAP.range(4).{n}.repeat(3, reseed_each_epoch=False)",
        "repeat-random-map": "MAP.range(4).repeat(3).{n}",
        "random-map-slice": "MAP.range(20).{n}[3::4]",
        "slice-random-map": "MAP.range(20)[3::4].{n}",
        "random-map-shuffle": "MAP.range(20).{n}.shuffle(seed=2)",
        "random-map-past-the-end": "[MAP.range(3).{n}[i] for i in (0, 3, 4, 30, 10**6)]",
        "random-map-concat": "MAP.concatenate([MAP.range(3).{n}, MAP.range(3).{n}]).repeat(2)",
        "random-map-mix": "MAP.mix([MAP.range(5).{n}, MAP.range(5).{n}])",
        "random-map-of-batch": "MAP.range(6).batch(2).random_map(lambda x, rng: rng.permutation(x), seed={s})",
        "random-map-filtered": "MAP.range(9).filter(lambda x: x % 2).{n}",
        "random-map-filtered-iter": "MAP.range(9).filter(lambda x: x % 2).{n}.to_iter_dataset()",
        "iter-random-map": "MAP.range(10).to_iter_dataset().{n}",
        "iter-random-map-batch": "MAP.range(10).to_iter_dataset().batch(3).random_map(lambda x, rng: rng.permutation(x), seed={s})",
    }
    for s in (0, 7, 2**32 - 1):
        draw = noise.format(s=s)
        out += [Case(f"{name}-{s}", expand(row.format(n=draw, s=s))) for name, row in rows.items()]
    return out


def slices() -> list[Case]:
    """Slices of a plain, a shuffled, a repeated and a batched dataset."""
    out = []
    for sl in (
        "2:9",
        "::3",
        "1::4",
        ":-2:2",
        "7:2",
        "-5:",
        "::-1",
        "8:2:-2",
        "100:",
        ":100",
        "0:0",
        "-100:3",
        "11:",
        ":",
    ):
        out += [
            Case(f"slice[{sl}]", f"{RANGE}(12)[{sl}]"),
            Case(f"slice-repeat[{sl}]", f"{RANGE}(12).shuffle(seed=1)[{sl}].repeat(2)"),
            Case(f"repeat-slice[{sl}]", f"{RANGE}(5).shuffle(seed=1).repeat(3)[{sl}]"),
            Case(f"slice-slice[{sl}]", f"{RANGE}(30)[3::2][{sl}]"),
            Case(f"batch-slice[{sl}]", f"{RANGE}(25).batch(2)[{sl}]"),
            Case(f"slice-method[{sl}]", f"{RANGE}(12).slice(np.s_[{sl}])"),
        ]
    return out


PLAIN = """
range-one :: MAP.range(5)
range-two :: MAP.range(2, 5)
range-negative-step :: MAP.range(8, 2, -2)
range-negative :: MAP.range(-4, 4, 3)
range-none :: MAP.range(5, None)
range-empty :: MAP.range(0)
range-backwards :: MAP.range(5, 2)
range-keywords :: MAP.range(start=1, stop=9, step=4)
past-the-end :: [MAP.range(5)[i] for i in (4, 5, 7, 12, 10**6, -1, -5, -6, -11)]
range-step-past :: [MAP.range(2, 11, 3)[i] for i in (0, 1, 2, 3, 4, -1)]
source-list :: MAP.source([10, 'a', (1, 2), {'k': 1}, b'x'])
source-str :: MAP.source('hello')
source-bytes :: MAP.source(b'hello')
source-range :: MAP.source(range(3, 9, 2))
source-array :: MAP.source(np.arange(6).reshape(3, 2))
source-tuple :: MAP.source((1, 2, 3))
source-nones :: MAP.source([None, 1, None, 2])
source-past :: [MAP.source([1, 2, 3])[i] for i in (3, 4, 100, -1, -4)]
source-empty :: MAP.source([])
map-past :: [MAP.range(5).map(lambda x: x * 2)[i] for i in (4, 5, 7, -1)]
shuffle-past :: [MAP.range(5).shuffle(seed=3)[i] for i in (4, 5, 7, 12, 10**6, -1, -2, -6)]
numpy-index :: [MAP.range(5)[np.int64(3)], MAP.range(5).shuffle(seed=1)[np.int64(7)]]
map-with-index :: MAP.range(10, 15).map_with_index(lambda i, x: (i, x))
map-with-index-repeat :: MAP.range(3).map_with_index(lambda i, x: (i, x)).repeat(2)
map-with-index-past :: [MAP.range(3).map_with_index(lambda i, x: (i, x))[j] for j in (2, 3, 7, -1)]
map-with-index-shuffle :: MAP.range(5).shuffle(seed=1).map_with_index(lambda i, x: (i, x))
map-with-index-slice :: MAP.range(9)[2::3].map_with_index(lambda i, x: (i, x))
map-with-index-filter :: MAP.range(9).filter(lambda x: x % 2).map_with_index(lambda i, x: (i, x))
map-batch-index :: MAP.range(9).batch(2).map_with_index(lambda i, x: (i, x))
repeat-one :: MAP.range(3).repeat(1)
repeat-len :: [len(MAP.range(3).repeat()), len(MAP.range(3).repeat(5)), len(MAP.range(1).repeat())]
repeat-map :: MAP.range(3).repeat(2).map(lambda x: x + 1)
repeat-forever-slice :: MAP.range(3).repeat()[5:12]
repeat-forever-batch-len :: len(MAP.range(3).repeat().batch(2))
repeat-forever-batch :: MAP.range(3).repeat().batch(2)[:5]
repeat-forever-filter :: MAP.range(4).filter(lambda x: x % 2).repeat()[:9]
concat :: MAP.concatenate([MAP.range(3), MAP.range(10, 12), MAP.range(20, 21)])
concat-one :: MAP.concatenate([MAP.range(3)])
concat-empty-part :: MAP.concatenate([MAP.range(3), MAP.range(0), MAP.range(5, 7)])
concat-shuffled :: MAP.concatenate([MAP.range(4).shuffle(seed=1), MAP.range(10, 13).shuffle(seed=2)]).repeat(3)
concat-past :: [MAP.concatenate([MAP.range(2), MAP.range(10, 13)])[i] for i in (4, 5, 7, 9, -1, -5)]
concat-random :: MAP.concatenate([MAP.range(2), MAP.range(10, 12)]).random_map(lambda x, r: x + r.random(), seed=1).repeat(2)
concat-concat :: MAP.concatenate([MAP.concatenate([MAP.range(2), MAP.range(5, 7)]), MAP.range(10, 12)]).shuffle(seed=4)
concat-filter :: MAP.concatenate([MAP.range(5).filter(lambda x: x % 2), MAP.range(10, 12)])
filter-all :: MAP.range(5).filter(lambda x: False)
filter-none :: MAP.range(5).filter(lambda x: True)
filter-truthy :: MAP.range(5).filter(lambda x: x)
filter-filter :: MAP.range(30).filter(lambda x: x % 2).filter(lambda x: x % 3)
filter-map :: MAP.range(9).filter(lambda x: x % 2).map(lambda x: x * 10)
filter-slots :: [MAP.range(6).filter(lambda x: x % 2).map(lambda x: x + 1)[i] for i in range(8)]
filter-slice :: MAP.range(12).filter(lambda x: x % 2)[3:9]
filter-repeat :: MAP.range(5).filter(lambda x: x % 2).repeat(2)
filter-shuffle :: MAP.range(12).filter(lambda x: x % 2).shuffle(seed=1)
map-none-then-map :: MAP.range(5).map(lambda x: None if x == 2 else x).map(lambda x: x + 1)
map-identity-types :: MAP.source([1, 2.5, 'a', b'b', (1,), [1], {'a': 1}]).map(lambda x: x)
mix-one :: MAP.mix([MAP.range(4)])
mix-one-weighted :: MAP.mix([MAP.range(4)], weights=[0.3])
mix-past :: [MAP.mix([MAP.range(3), MAP.range(10, 12)])[i] for i in range(12)]
mix-repeat :: MAP.mix([MAP.range(3).shuffle(seed=1), MAP.range(10, 12).shuffle(seed=2)]).repeat(3)
mix-shuffle :: MAP.mix([MAP.range(9), MAP.range(10, 19)], weights=[2, 1]).shuffle(seed=3)
mix-filter :: MAP.mix([MAP.range(9).filter(lambda x: x % 2), MAP.range(10, 19)])
mix-slice :: MAP.mix([MAP.range(30), MAP.range(100, 130)], weights=[.7, .3])[5:25:3]
mix-of-mix :: MAP.mix([MAP.mix([MAP.range(9), MAP.range(20, 29)]), MAP.range(40, 49)], weights=[.6, .4])
mix-infinite :: MAP.mix([MAP.range(3).repeat(), MAP.range(10, 14).repeat()], weights=[1, 3])[:30]
mix-one-infinite :: MAP.mix([MAP.range(3), MAP.range(10, 14).repeat()])
mix-many :: MAP.mix([MAP.range(i * 10, i * 10 + 6) for i in range(7)])
mix-random-map :: MAP.mix([MAP.range(5), MAP.range(9, 14)]).random_map(lambda x, r: (x, int(r.integers(99))), seed=3)
mix-tuple :: MAP.mix((MAP.range(3), MAP.range(5, 8)), weights=(1, 2))
mix-int-weights :: MAP.mix([MAP.range(30), MAP.range(50, 80)], weights=[3, 7])
mix-tiny-weight :: MAP.mix([MAP.range(3), MAP.range(500, 1500)], weights=[.01, .99])[:150]
mix-len :: [len(MAP.mix([MAP.range(a), MAP.range(b)], weights=w)) for a, b, w in ((1, 1, [1, 9]), (3, 17, [.5, .5]), (99, 7, [.99, .01]))]
mix-thirds :: MAP.mix([MAP.range(6), MAP.range(100, 106)], weights=[1, 2/3])
mix-tenths :: MAP.mix([MAP.range(40), MAP.range(100, 140), MAP.range(200, 240)], weights=[.7, .1, .3])
mix-thirds-iter :: ITER.mix([MAP.range(30).to_iter_dataset(), MAP.range(100, 130).to_iter_dataset()], weights=[2.5, 5/3])
mix-thirds-len :: [len(MAP.mix([MAP.range(5000), MAP.range(5000)], weights=w)) for w in ([1/3, 2/3], [1, 2/3], [.3, .1], [.7, 1/3], [2.5, .6])]
shuffle-past-2-50 :: [MAP.range(2**50 + d).shuffle(seed=1)[i] for d in (1, 2, 3, 6) for i in (0, 1, 2**50)]
shuffle-past-2-62 :: [MAP.range(2**k + d).shuffle(seed=7)[i] for k in (52, 58, 62) for d in (2, 6, 200) for i in (0, 1, 2**k)]
pipe-args :: MAP.range(9).pipe(lambda ds, a, b: ds[a:b], 2, 7)
pipe-class :: MAP.range(9).pipe(X.WindowShuffleMapDataset, window_size=3, seed=1)
window-map-w3 :: X.WindowShuffleMapDataset(MAP.range(10), window_size=3, seed=1)
window-map-w1 :: X.WindowShuffleMapDataset(MAP.range(5), window_size=1, seed=1)
window-map-whole :: X.WindowShuffleMapDataset(MAP.range(10), window_size=10, seed=1)
window-map-bigger :: X.WindowShuffleMapDataset(MAP.range(10), window_size=25, seed=1)
window-map-past :: [X.WindowShuffleMapDataset(MAP.range(10), window_size=4, seed=1)[i] for i in range(40)]
window-map-repeat :: X.WindowShuffleMapDataset(MAP.range(10), window_size=4, seed=1).repeat(2)
window-map-after-repeat :: X.WindowShuffleMapDataset(MAP.range(10).repeat(2), window_size=4, seed=1)
window-map-shuffled :: X.WindowShuffleMapDataset(MAP.range(10).shuffle(seed=5), window_size=4, seed=1).repeat(2)
window-map-slice :: X.WindowShuffleMapDataset(MAP.range(20), window_size=4, seed=1)[2:11]
zip-map-three :: X.ZipMapDataset([MAP.range(3), MAP.range(10, 13), MAP.range(20, 23)])
zip-map-one :: X.ZipMapDataset([MAP.range(3)])
zip-map-holes :: X.ZipMapDataset([MAP.range(3).filter(lambda x: x), MAP.range(10, 13)])
zip-map-repeat :: X.ZipMapDataset([MAP.range(3).shuffle(seed=1), MAP.range(3).shuffle(seed=2)]).repeat(2)
zip-map-past :: [X.ZipMapDataset([MAP.range(3), MAP.range(10, 13)])[i] for i in (3, 4, -1)]
zip-map-batch :: X.ZipMapDataset([MAP.range(5), MAP.range(10, 15)]).batch(2)
zip-zip :: X.ZipMapDataset([X.ZipMapDataset([MAP.range(3), MAP.range(3)]), MAP.range(5, 8)])
iterate-twice :: (lambda ds: [list(ds), list(ds)])(MAP.range(5).shuffle(seed=1))
len-chain :: [len(MAP.range(10).filter(lambda x: x).map(abs)), len(MAP.range(10).batch(3).repeat(2)), len(MAP.range(10)[3:].batch(3, drop_remainder=True))]
"""

SELECT = """
class Pick(grain.transforms.DatasetSelectionMap):
    def __len__(self): return 12
    def __getitem__(self, i): return (i % 2, (i * 7) % 10)
class Past(grain.transforms.DatasetSelectionMap):
    def __len__(self): return 6
    def __getitem__(self, i): return (0, i + 8)
"""
SELECTED = """
select :: MAP.select_from_datasets([MAP.range(10), MAP.range(100, 110)], Pick())
select-past :: [MAP.select_from_datasets([MAP.range(10), MAP.range(100, 110)], Pick())[i] for i in (11, 12, 13, 30, -1)]
select-repeat :: MAP.select_from_datasets([MAP.range(10).shuffle(seed=1), MAP.range(100, 110).shuffle(seed=2)], Pick()).repeat(2)
select-shuffle :: MAP.select_from_datasets([MAP.range(10), MAP.range(100, 110)], Pick()).shuffle(seed=3)
select-beyond-parent :: MAP.select_from_datasets([MAP.range(10).shuffle(seed=1)], Past())
"""

WEIGHTS = (
    "None",
    "[1, 1]",
    "[0.25, 0.75]",
    "[10, 1]",
    "[0.333, 0.667]",
    "[0.1, 0.9]",
    "[3, 2]",
    "[1e-2, 1]",
    "[0.5, 0.5]",
)


def mixes() -> list[Case]:
    """Two and three components, both kinds of dataset, many weights."""
    pair = "[{r}(60){e}, {r}(1000, 1050){e}]"
    out = []
    for w in WEIGHTS:
        out.append(Case(f"mix2-{w}", f"grain.MapDataset.mix({pair.format(r=RANGE, e='')}, weights={w})", take=120))
        datasets = pair.format(r=RANGE, e=".to_iter_dataset()")
        out.append(Case(f"mix2-iter-{w}", f"grain.IterDataset.mix({datasets}, weights={w})", take=120))
    for w in ("None", "[0.2, 0.3, 0.5]", "[5, 1, 1]", "[0.6, 0.39, 0.01]", "[1, 2, 3]"):
        parts = f"[{RANGE}(30), {RANGE}(100, 120), {RANGE}(200, 290)]"
        out.append(Case(f"mix3-{w}", f"grain.MapDataset.mix({parts}, weights={w})", take=120))
        parts = parts.replace("),", ").to_iter_dataset(),").replace(")]", ").to_iter_dataset()]")
        out.append(Case(f"mix3-iter-{w}", f"grain.IterDataset.mix({parts}, weights={w})", take=120))
    return out


CASES = shuffles() + seeds() + random_maps() + slices() + table("map", PLAIN) + table("map", SELECTED, SELECT) + mixes()
