"""Mixtures of 2 to 100 weighted datasets, element by element."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.metrics import RECORDS
from benchmarks.workload import Row
from benchmarks.workloads.cheap import LENGTH, increment

ROWS = tuple(Row(f"{parts} datasets", RECORDS, {"parts": parts}) for parts in (2, 5, 10, 100))


def _weights(parts: int) -> list[float]:
    return [1.0 + part % 3 for part in range(parts)]


def with_grain(grain: Any, run: Any, parts: int) -> Any:
    components = [grain.MapDataset.range(LENGTH).shuffle(seed=part).map(increment) for part in range(parts)]
    return run(grain.MapDataset.mix(components, _weights(parts)))


def with_torchdata(nodes: Any, parts: int) -> Any:
    names = [str(part) for part in range(parts)]
    components = {name: nodes.Mapper(nodes.IterableWrapper(range(LENGTH)), increment) for name in names}
    weights = dict(zip(names, _weights(parts), strict=True))
    return nodes.Loader(nodes.MultiNodeWeightedSampler(components, weights))


def with_datasets(datasets: Any, parts: int) -> Any:
    columns = {"x": range(10_000)}
    components = [datasets.Dataset.from_dict(columns).to_iterable_dataset() for _ in range(parts)]
    share = np.array(_weights(parts)) / sum(_weights(parts))
    return datasets.interleave_datasets(components, probabilities=share.tolist(), seed=1)


def bare(parts: int) -> Iterator[int]:
    choice = np.random.default_rng(1).choice(parts, LENGTH, p=np.array(_weights(parts)) / sum(_weights(parts)))
    orders = [np.random.default_rng(part).permutation(LENGTH // 10).tolist() for part in range(parts)]
    sources = [map(increment, order * 10) for order in orders]
    return (next(sources[part]) for part in choice.tolist())
