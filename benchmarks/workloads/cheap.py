"""Cheap elements: what a library itself costs when the user's functions cost next to nothing."""

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.data import batches
from benchmarks.metrics import RECORDS
from benchmarks.workload import Row

LENGTH = 10**6
ROWS = (
    Row("element by element", RECORDS),
    Row("batches of 256", RECORDS, {"batch": 256}, scale=256),
    Row("filter, batches of 256", RECORDS, {"batch": 256, "filtered": True}, scale=256),
)


def increment(x: int) -> int:
    return x + 1


def is_odd(x: int) -> bool:
    return x % 2 == 1


def with_grain(grain: Any, run: Any, batch: int = 0, filtered: bool = False) -> Any:
    ds = grain.MapDataset.range(LENGTH).shuffle(seed=1).map(increment)
    if filtered:
        return run(ds.filter(is_odd)).batch(batch)
    return run(ds.batch(batch) if batch else ds)


class Incremented:
    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> int:
        return increment(index)


def with_torch(data: Any, run: Any, batch: int = 0, filtered: bool = False) -> Any:
    if not filtered:
        return run(Incremented(), batch_size=batch or None, shuffle=True)

    class Odd(data.IterableDataset):  # type: ignore[misc]
        def __iter__(self) -> Iterator[int]:
            return filter(is_odd, map(increment, np.random.default_rng(1).permutation(LENGTH).tolist()))

    return run(Odd(), batch_size=batch)


def with_torchdata(nodes: Any, batch: int = 0, filtered: bool = False) -> Any:
    node = nodes.IterableWrapper(np.random.default_rng(1).permutation(LENGTH).tolist())
    node = nodes.Mapper(node, increment)
    if filtered:
        node = nodes.IterableWrapper(filter(is_odd, node))
    return nodes.Loader(nodes.Batcher(node, batch) if batch else node)


@functools.cache
def _table(datasets: Any) -> Any:
    return datasets.Dataset.from_dict({"x": range(LENGTH)})


def _increment_column(columns: dict[str, list[int]]) -> dict[str, list[int]]:
    return {"x": [increment(x) for x in columns["x"]]}


def with_datasets(datasets: Any, batch: int = 0, filtered: bool = False) -> Any:
    ds = _table(datasets).to_iterable_dataset().shuffle(seed=1, buffer_size=1000)
    ds = ds.map(_increment_column, batched=True)
    ds = ds.filter(lambda row: is_odd(row["x"])) if filtered else ds
    return ds.iter(batch) if batch else ds


def with_spdl(spdl: Any, batch: int = 0, filtered: bool = False) -> Iterator[Any]:
    """A batch at a time where there are batches: every item costs SPDL a trip through its event loop."""
    numbers = np.random.default_rng(1).permutation(LENGTH).tolist()
    builder = spdl.PipelineBuilder()
    if filtered:
        builder = builder.add_source(numbers).pipe(increment).pipe(lambda x: x if is_odd(x) else None)
        builder = builder.aggregate(batch).pipe(np.array)
    elif batch:
        builder = builder.add_source(batches(numbers, batch)).pipe(lambda part: np.array([increment(x) for x in part]))
    else:
        builder = builder.add_source(numbers).pipe(increment)
    pipeline = builder.add_sink(8).build(num_threads=1)
    with pipeline.auto_stop():
        yield from pipeline


def bare(batch: int = 0, filtered: bool = False) -> Iterator[Any]:
    elements: Iterator[int] = map(increment, np.random.default_rng(1).permutation(LENGTH).tolist())
    if filtered:
        elements = filter(is_odd, elements)
    if not batch:
        return elements
    return map(np.array, batches(elements, batch))
