"""Small dict elements (28×28 images with labels) from memory: map, random_map, batches of 128."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.contestants import numpy_collate
from benchmarks.data import batches, digits
from benchmarks.functions import normalise, relabel
from benchmarks.metrics import RECORDS
from benchmarks.workload import Row

BATCH = 128
ROWS = (
    Row("map of the label, batch", RECORDS, {"work": "label"}, scale=BATCH, spread=True),
    Row("map, batch", RECORDS, scale=BATCH, spread=True),
    Row("map, random_map, batch", RECORDS, {"work": "augment"}, scale=BATCH, spread=True),
)


def flip(element: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    if rng.random() < 0.5:
        return element
    return {"image": element["image"][:, ::-1], "label": element["label"]}


def per_element(work: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The work on one element, as the user of a library without `random_map` writes it."""
    if work != "augment":
        return relabel if work == "label" else normalise
    rng = np.random.default_rng(1)
    return lambda element: flip(normalise(element), rng)


def with_grain(grain: Any, run: Any, work: str = "images", workers: int = 0) -> Any:
    ds = grain.MapDataset.source(digits()).shuffle(seed=1).map(relabel if work == "label" else normalise)
    if work == "augment":
        ds = ds.random_map(flip, seed=1)
    return run(ds.batch(BATCH), workers)


class Digits:
    def __init__(self, work: str = "images") -> None:
        self._work = per_element(work)

    def __len__(self) -> int:
        return len(digits())

    def __getitem__(self, index: int) -> dict[str, Any]:
        element = self._work(digits()[index])
        return {"image": np.ascontiguousarray(element["image"]), "label": element["label"]}


def with_torch(_data: Any, run: Any, work: str = "images") -> Any:
    return run(Digits(work), batch_size=BATCH, shuffle=True)


def _order() -> list[int]:
    permutation: list[int] = np.random.default_rng(1).permutation(len(digits())).tolist()
    return permutation


def with_torchdata(nodes: Any, work: str = "images") -> Any:
    function, source = per_element(work), digits()
    node = nodes.Mapper(nodes.IterableWrapper(_order()), lambda index: function(source[index]))
    return nodes.Loader(nodes.Mapper(nodes.Batcher(node, BATCH), numpy_collate))


@functools.cache
def _table(datasets: Any) -> Any:
    columns = {"image": [d["image"] for d in digits()[:10_000]], "label": [d["label"] for d in digits()[:10_000]]}
    return datasets.Dataset.from_dict(columns).with_format("numpy")


def with_datasets(datasets: Any, work: str = "images") -> Any:
    function = per_element(work)

    def transform(columns: dict[str, Any]) -> dict[str, Any]:
        pairs = zip(columns["image"], columns["label"], strict=True)
        return numpy_collate([function({"image": np.asarray(i, np.uint8), "label": b}) for i, b in pairs])  # type: ignore[no-any-return]

    return _table(datasets).shuffle(seed=1).with_transform(transform).iter(BATCH)


def with_spdl(spdl: Any, work: str = "images") -> Iterator[Any]:
    function = per_element(work)

    def load(indices: list[int]) -> Any:
        return numpy_collate([function(digits()[index]) for index in indices])

    builder = spdl.PipelineBuilder().add_source(batches(_order(), BATCH)).pipe(load, concurrency=2)
    pipeline = builder.add_sink(8).build(num_threads=2)
    with pipeline.auto_stop():
        yield from pipeline


def bare(work: str = "images") -> Iterator[Any]:
    function, source, order = per_element(work), digits(), _order()
    for start in range(0, len(order) - BATCH, BATCH):
        elements = [function(source[index]) for index in order[start : start + BATCH]]
        yield {
            "image": np.array([element["image"] for element in elements]),
            "label": np.array([element["label"] for element in elements]),
        }
