"""Packing: first fit, best fit, concatenate then split, and the loader's pack-and-batch operation."""

import itertools

from case import Case, table

SETUP = """
def docs(*lens, dt=np.int32):
    return grain.MapDataset.source([{'x': np.arange(1, n + 1, dtype=dt) + 100 * i} for i, n in enumerate(lens)]).to_iter_dataset()
def pairs(*lens):
    return grain.MapDataset.source([{'a': np.arange(1, n + 1) + 100 * i, 'b': np.arange(1, m + 1) * 2 + 100 * i} for i, (n, m) in enumerate(lens)]).to_iter_dataset()
def metas(*lens):
    return grain.MapDataset.source([{'x': np.arange(1, n + 1) + 100 * i, 'm': np.array([i])} for i, n in enumerate(lens)]).to_iter_dataset()
def load(elements, op):
    return grain.DataLoader(data_source=elements, sampler=grain.samplers.SequentialSampler(len(elements)), operations=[op], read_options=grain.ReadOptions(0, 0))
def dicts(*lens): return [{'x': np.arange(1, n + 1) + 100 * i} for i, n in enumerate(lens)]
Replace = grain.experimental.BOSHandling.REPLACE_FIRST_TOKEN_WITH_BOS
"""
LENS = "5, 3, 8, 2, 9, 1, 4, 7, 6, 2, 3, 10, 1, 1, 5"
PAIRS = "(3, 5), (6, 2), (4, 4), (1, 8), (2, 2), (7, 3), (5, 5), (1, 1), (3, 3), (8, 9), (2, 1)"


def fits() -> list[Case]:
    """Both packers over bins, seeds and limits."""
    out = []
    for cls, bins in itertools.product(("FirstFit", "BestFit"), (1, 2, 3, 4, 8)):
        call = f"grain.experimental.{cls}PackIterDataset"
        for shuffle, seed in ((False, 0), (True, 0), (True, 3), (True, 2**32)):
            args = f"length_struct={{'x': 10}}, num_packing_bins={bins}, seed={seed}, shuffle_bins={shuffle}"
            out.append(Case(f"pack-{cls}-{bins}-{shuffle}-{seed}", f"{call}(docs({LENS}), {args})", SETUP))
        for most in (1, 2, 3):
            args = f"length_struct={{'x': 12}}, num_packing_bins={bins}, seed=1, max_sequences_per_bin={most}"
            out.append(Case(f"pack-{cls}-{bins}-most{most}", f"{call}(docs({LENS}), {args})", SETUP))
        args = f"length_struct={{'a': 8, 'b': 9}}, num_packing_bins={bins}, shuffle_bins=False"
        out.append(Case(f"pack2-{cls}-{bins}", f"{call}(pairs({PAIRS}), {args})", SETUP))
        out.append(
            Case(f"pack2-{cls}-{bins}-shuffled", f"{call}(pairs({PAIRS}), {args.replace('False', 'True')})", SETUP)
        )
        for align in (2, 3, 4):
            args = f"length_struct={{'x': 12}}, num_packing_bins={bins}, pack_alignment_struct={{'x': {align}}}, padding_struct={{'x': -1}}"
            out.append(Case(f"pack-{cls}-{bins}-align{align}", f"{call}(docs({LENS}), {args})", SETUP))
        args = f"length_struct={{'x': 10, 'm': 3}}, num_packing_bins={bins}, seed=5, meta_features=['m']"
        out.append(Case(f"pack-{cls}-{bins}-meta", f"{call}(metas({LENS}), {args})", SETUP))
        args = f"length_struct={{'x': 10}}, num_packing_bins={bins}, seed=5, meta_features=['m']"
        out.append(Case(f"pack-{cls}-{bins}-meta-list", f"{call}(metas({LENS}), {args})", SETUP))
        args = f"length_struct={{'x': 10, 'm': 4}}, num_packing_bins={bins}, seed=5, shuffle_bins_group_by_feature='m'"
        out.append(Case(f"pack-{cls}-{bins}-group", f"{call}(metas({LENS}), {args})", SETUP))
        args = f"length_struct={{'x': 10, 'm': 4}}, num_packing_bins={bins}, seed=2, shuffle_bins_group_by_feature='m', meta_features=['m'], padding_struct={{'x': 0, 'm': -1}}"
        out.append(Case(f"pack-{cls}-{bins}-group-pad", f"{call}(metas({LENS}), {args})", SETUP))
    return out


def splits() -> list[Case]:
    """Concatenate then split over lengths and options."""
    call = "grain.experimental.ConcatThenSplitIterDataset"
    out = []
    for cap, split in itertools.product((1, 2, 3, 4, 5, 8, 10, 16, 100), (True, False)):
        args = f"length_struct={{'x': {cap}}}, split_full_length_features={split}"
        out.append(Case(f"concat-split-{cap}-{split}", f"{call}(docs({LENS}), {args})", SETUP, 80))
        bos = "bos_handling=Replace, bos_features=['x'], bos_token_id=7"
        out.append(Case(f"concat-split-bos-{cap}-{split}", f"{call}(docs({LENS}), {args}, {bos})", SETUP, 80))
    for cap, most, split in itertools.product((4, 8), (2, 5), (True, False)):
        args = f"length_struct={{'x': {cap}, 'm': {most}}}, meta_features=['m'], split_full_length_features={split}"
        out.append(Case(f"concat-split-meta-{cap}-{most}-{split}", f"{call}(metas({LENS}), {args})", SETUP, 80))
    for split in (True, False):
        args = f"length_struct={{'a': 8, 'b': 8}}, split_full_length_features={split}"
        same = ", ".join(f"({n}, {n})" for n in (5, 3, 8, 2, 19, 1, 4))
        out.append(Case(f"concat-split-two-{split}", f"{call}(pairs({same}), {args})", SETUP))
        double = ", ".join(f"({n}, {2 * n})" for n in (5, 3, 8, 2, 19, 1, 4))
        out.append(
            Case(
                f"concat-split-double-{split}",
                f"{call}(pairs({double}), {args.replace(chr(39) + 'b' + chr(39) + ': 8', chr(39) + 'b' + chr(39) + ': 16')})",
                SETUP,
            )
        )
    return out


PLAIN = """
empty-parent :: X.FirstFitPackIterDataset(docs(), length_struct={'x': 4}, num_packing_bins=2)
empty-element :: X.FirstFitPackIterDataset(docs(2, 0, 3), length_struct={'x': 8}, num_packing_bins=2, shuffle_bins=False)
only-empty :: X.FirstFitPackIterDataset(docs(0, 0), length_struct={'x': 4}, num_packing_bins=2)
exact :: X.FirstFitPackIterDataset(docs(4, 4, 4), length_struct={'x': 4}, num_packing_bins=2, shuffle_bins=False)
default-shuffle :: X.FirstFitPackIterDataset(docs(4, 4, 4, 4, 4), length_struct={'x': 4}, num_packing_bins=4)
many-groups :: X.FirstFitPackIterDataset(docs(*[3] * 40), length_struct={'x': 4}, num_packing_bins=7, seed=11)
best-many-groups :: X.BestFitPackIterDataset(docs(*[1, 3, 2, 4] * 10), length_struct={'x': 5}, num_packing_bins=5, seed=11)
of-map-dataset :: X.FirstFitPackIterDataset(MAP.source(dicts(3, 2, 4)), length_struct={'x': 5}, num_packing_bins=2)
two-d :: X.FirstFitPackIterDataset(MAP.range(3).map(lambda i: {'x': np.full((2, 3), i, np.float32)}).to_iter_dataset(), length_struct={'x': 5}, num_packing_bins=1)
dtypes :: X.FirstFitPackIterDataset(MAP.range(3).map(lambda i: {'f': np.full(2, i, np.float16), 'b': np.array([True, False]), 'u': np.full(1, i, np.uint8)}).to_iter_dataset(), length_struct={'f': 5, 'b': 6, 'u': 4}, num_packing_bins=1)
strings :: X.FirstFitPackIterDataset(MAP.range(3).map(lambda i: {'x': np.array(['a', 'bb'])}).to_iter_dataset(), length_struct={'x': 7}, num_packing_bins=1)
scalars :: X.FirstFitPackIterDataset(MAP.range(3).map(lambda i: {'x': np.arange(3), 'n': i + 5}).to_iter_dataset(), length_struct={'x': 8, 'n': 4}, num_packing_bins=1)
extra-features :: X.FirstFitPackIterDataset(MAP.range(3).map(lambda i: {'x': np.arange(3), 'y': i}).to_iter_dataset(), length_struct={'x': 8}, num_packing_bins=1)
padding :: X.BestFitPackIterDataset(docs(3, 1, 2), length_struct={'x': 5}, num_packing_bins=1, padding_struct={'x': -1})
after-filter :: X.FirstFitPackIterDataset(docs(3, 1, 2, 4, 1).filter(lambda d: len(d['x']) > 1), length_struct={'x': 5}, num_packing_bins=2, shuffle_bins=False)
then-batch :: X.FirstFitPackIterDataset(docs(3, 1, 2, 4, 1), length_struct={'x': 5}, num_packing_bins=2, shuffle_bins=False).batch(2)
limit-then-pack :: X.FirstFitPackIterDataset(X.LimitIterDataset(docs(3, 1, 2, 4, 1), 3), length_struct={'x': 5}, num_packing_bins=2, shuffle_bins=False)
split-empty-parent :: X.ConcatThenSplitIterDataset(docs(), length_struct={'x': 4})
split-empty-element :: X.ConcatThenSplitIterDataset(docs(3, 0, 2, 8, 8, 0, 1), length_struct={'x': 4})
split-lists :: X.ConcatThenSplitIterDataset(MAP.source([{'x': [1, 2, 3]}] * 3).to_iter_dataset(), length_struct={'x': 4})
split-scalars :: X.ConcatThenSplitIterDataset(MAP.source([{'x': 5}] * 5).to_iter_dataset(), length_struct={'x': 4})
split-two-d :: X.ConcatThenSplitIterDataset(MAP.source([{'x': np.arange(6).reshape(3, 2)}] * 3).to_iter_dataset(), length_struct={'x': 4})
split-full-first :: X.ConcatThenSplitIterDataset(docs(4, 4, 2, 4), length_struct={'x': 4}, split_full_length_features=False)
split-full-only :: X.ConcatThenSplitIterDataset(docs(4, 4), length_struct={'x': 4}, split_full_length_features=False)
split-full-after-exact :: X.ConcatThenSplitIterDataset(docs(2, 2, 4, 4, 1), length_struct={'x': 4}, split_full_length_features=False)
split-of-map-dataset :: X.ConcatThenSplitIterDataset(MAP.source(dicts(3, 2, 4)), length_struct={'x': 5})
split-bos-no-features :: X.ConcatThenSplitIterDataset(docs(5, 3), length_struct={'x': 4}, bos_handling=Replace, bos_token_id=3)
operation :: load(dicts(5, 3, 8, 2, 9, 1, 4, 7, 6, 2), X.PackAndBatchOperation({'x': 10}, 2))
operation-one-row :: load(dicts(5, 3, 8, 2, 9, 1), X.PackAndBatchOperation({'x': 10}, 1))
operation-many-rows :: load(dicts(5, 3, 8, 2, 9, 1), X.PackAndBatchOperation({'x': 10}, 6))
operation-most :: load(dicts(1, 1, 1, 1, 1, 1), X.PackAndBatchOperation({'x': 10}, 2, max_sequences_per_bin=2))
operation-two :: load([{'x': np.arange(3), 'y': np.arange(2)}] * 3, X.PackAndBatchOperation({'x': 10, 'y': 4}, 2))
operation-tuple :: load([(np.arange(3), np.arange(2))] * 3, X.PackAndBatchOperation((10, 4), 2))
operation-array :: load([np.arange(3)] * 5, X.PackAndBatchOperation(7, 2))
operation-two-d :: load([{'x': np.ones((2, 3), np.float32)}] * 5, X.PackAndBatchOperation({'x': 5}, 2))
"""

CASES = fits() + splits() + table("packing", PLAIN, SETUP)
