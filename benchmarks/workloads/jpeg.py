"""JPEG: decode, crop to 224×224, flip, batches of 64, with 0, 1 and 2 workers."""

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.contestants import numpy_collate
from benchmarks.data import jpegs
from benchmarks.metrics import RECORDS
from benchmarks.workload import Row

BATCH, SIDE = 64, 224
# Hugging Face's datasets leave workers to torch's loader.
_LIBRARIES = ("hf", "ours", "reference", "torch", "spdl", "limit")
# Sixteen threads that decode a batch each on two cores finish their batches together, every third of a second.
ROWS = (
    Row("0 workers", RECORDS, {"workers": 0}, BATCH, only=_LIBRARIES, longer=2),
    Row("1 worker", RECORDS, {"workers": 1}, BATCH, only=_LIBRARIES[1:]),
    Row("2 workers", RECORDS, {"workers": 2}, BATCH, only=_LIBRARIES[1:]),
)


def decode(encoded: bytes) -> np.ndarray[Any, Any]:
    return np.asarray(Image.open(io.BytesIO(encoded)))


def crop_and_flip(image: np.ndarray[Any, Any], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    top, left = rng.integers(0, image.shape[0] - SIDE), rng.integers(0, image.shape[1] - SIDE)
    cropped = image[top : top + SIDE, left : left + SIDE]
    return cropped[:, ::-1] if rng.random() < 0.5 else cropped


def with_grain(grain: Any, run: Any, workers: int) -> Any:
    ds = grain.MapDataset.source(jpegs()).shuffle(seed=1).map(decode).random_map(crop_and_flip, seed=1)
    return run(ds.batch(BATCH), workers)


class Images:
    def __init__(self) -> None:
        self._rng = np.random.default_rng(1)

    def __len__(self) -> int:
        return len(jpegs())

    def __getitem__(self, index: int) -> Any:
        return np.ascontiguousarray(crop_and_flip(decode(jpegs()[index]), self._rng))


def with_torch(_data: Any, run: Any, workers: int) -> Any:
    jpegs()
    return run(Images(), workers, batch_size=BATCH, shuffle=True)


def with_datasets(datasets: Any, workers: int) -> Any:
    del workers
    images = datasets.Dataset.from_dict({"jpeg": jpegs()[:2_560]})
    rng = np.random.default_rng(1)

    def transform(columns: dict[str, list[bytes]]) -> dict[str, Any]:
        return {"image": numpy_collate([crop_and_flip(decode(encoded), rng) for encoded in columns["jpeg"]])}

    return images.shuffle(seed=1).with_transform(transform).iter(BATCH)


def with_spdl(spdl: Any, workers: int) -> Iterator[Any]:
    """SPDL's way of parallel work is threads: as many as the row has workers."""
    rng = np.random.default_rng(1)

    def load(index: int) -> Any:
        return crop_and_flip(decode(jpegs()[index]), rng)

    threads = max(workers, 1)
    order = np.random.default_rng(1).permutation(len(jpegs())).tolist()
    builder = spdl.PipelineBuilder().add_source(order).pipe(load, concurrency=threads).aggregate(BATCH)
    pipeline = builder.pipe(numpy_collate).add_sink(4).build(num_threads=threads)
    with pipeline.auto_stop():
        yield from pipeline


def bare(workers: int) -> Iterator[Any]:
    del workers
    rng, source = np.random.default_rng(1), jpegs()
    out = np.empty((BATCH, SIDE, SIDE, 3), np.uint8)
    for start in range(0, len(source) - BATCH, BATCH):
        for place, encoded in enumerate(source[start : start + BATCH]):
            out[place] = crop_and_flip(decode(encoded), rng)
        yield out
