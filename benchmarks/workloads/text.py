"""Text: tokens of words or bytes, without the short documents, packed into rows of 512, in batches of 16."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.contestants import numpy_collate
from benchmarks.data import batches, documents
from benchmarks.metrics import ROWS as PACKED_ROWS
from benchmarks.workload import Row

WIDTH, BATCH, BINS, SHORTEST = 512, 16, 32, 16
# Each worker makes a vocabulary at first, and buffers that were filled meanwhile are emptied.
WARM_UP = 4
ROWS = (
    Row("words, filter, pack, batch", PACKED_ROWS, {"words": True}, scale=BATCH, spread=True, warm_up=WARM_UP),
    Row("bytes, filter, pack, batch", PACKED_ROWS, {"words": False}, scale=BATCH, spread=True, warm_up=WARM_UP),
)
Tokens = dict[str, Any]


@functools.cache
def vocabulary() -> dict[str, int]:
    return {f"w{word}": word + 1 for word in range(30_000)}


def tokenise_words(text: str) -> Tokens:
    return {"tokens": np.array(list(map(vocabulary().__getitem__, text.split())), np.int32)}


def tokenise_bytes(text: str) -> Tokens:
    return {"tokens": np.frombuffer(text.encode()[:WIDTH], np.uint8)}


def is_long(element: Tokens) -> bool:
    return len(element["tokens"]) >= SHORTEST


def with_grain(grain: Any, run: Any, words: bool, workers: int = 0) -> Any:
    ds = run(grain.MapDataset.source(documents()).shuffle(seed=1).map(_tokenise(words)).filter(is_long))
    ds = grain.experimental.FirstFitPackIterDataset(
        ds, length_struct={"tokens": WIDTH}, num_packing_bins=BINS, shuffle_bins=False
    )
    return run(ds.batch(BATCH), workers)


def _tokenise(words: bool) -> Callable[[str], Tokens]:
    return tokenise_words if words else tokenise_bytes


def _shuffled() -> Iterator[str]:
    source = documents()
    return map(source.__getitem__, np.random.default_rng(1).permutation(len(source)).tolist())


def packed(elements: Iterator[Tokens]) -> Iterator[Tokens]:
    """First fit as users write it by hand where the library has none: tokens, segments and positions a row."""
    bins: list[list[Any]] = [[] for _ in range(BINS)]
    free = [WIDTH] * BINS
    for element in elements:
        tokens = element["tokens"]
        place = next((i for i, room in enumerate(free) if room >= len(tokens)), None)
        if place is None:
            yield from map(_row, bins)
            bins, free, place = [[] for _ in range(BINS)], [WIDTH] * BINS, 0
        bins[place].append(tokens)
        free[place] -= len(tokens)


def _row(parts: list[Any]) -> Tokens:
    row = {name: np.zeros(WIDTH, np.int32) for name in ("tokens", "segments", "positions")}
    start = 0
    for number, part in enumerate(parts, 1):
        end = start + len(part)
        row["tokens"][start:end], row["segments"][start:end] = part, number
        row["positions"][start:end] = np.arange(len(part))
        start = end
    return row


def with_torch(data: Any, run: Any, words: bool) -> Any:
    class Packed(data.IterableDataset):  # type: ignore[misc]
        def __iter__(self) -> Iterator[Tokens]:
            return packed(filter(is_long, map(_tokenise(words), _shuffled())))

    return run(Packed(), batch_size=BATCH)


def with_datasets(datasets: Any, words: bool) -> Any:
    tokenise = _tokenise(words)
    ds = datasets.Dataset.from_dict({"text": documents()[:5_000]}).to_iterable_dataset().shuffle(seed=1)
    ds = ds.map(lambda row: tokenise(row["text"]), remove_columns="text").filter(is_long)
    return map(numpy_collate, batches(packed(iter(ds)), BATCH))


def with_spdl(spdl: Any, words: bool) -> Iterator[Any]:
    """Texts by the hundred: every item costs SPDL a trip through its event loop."""
    tokenise = _tokenise(words)

    def work(texts: list[str]) -> list[Tokens]:
        return list(filter(is_long, map(tokenise, texts)))

    builder = spdl.PipelineBuilder().add_source(batches(_shuffled(), 100)).pipe(work, concurrency=2)
    pipeline = builder.disaggregate().add_sink(64).build(num_threads=2)
    with pipeline.auto_stop():
        yield from map(numpy_collate, batches(packed(iter(pipeline)), BATCH))


def bare(words: bool) -> Iterator[Any]:
    """Only the user's own functions, and the rows that their tokens would fill."""
    tokens = 0
    for element in filter(is_long, map(_tokenise(words), _shuffled())):
        tokens += len(element["tokens"])
        if tokens >= WIDTH * BATCH:
            tokens -= WIDTH * BATCH
            yield element
