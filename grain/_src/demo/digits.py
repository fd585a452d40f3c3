"""The data of the demonstration, and the pipeline that both of its models train on."""

import importlib.resources
import io
from pathlib import Path
from typing import Any

import numpy as np

import grain

BATCH_SIZE = 64
TEST_RECORDS = 297

Element = dict[str, np.ndarray[Any, Any]]


def read_all() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Returns 1,797 images of 8×8 pixels between 0 and 1, and their labels."""
    data = importlib.resources.files("grain._src.demo").joinpath("digits.npz").read_bytes()
    with np.load(io.BytesIO(data)) as arrays:
        return arrays["pixels"].reshape(-1, 8, 8).astype(np.float32) / 16, arrays["labels"].astype(np.int32)


def test_set() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Returns the images and labels that are kept from training."""
    images, labels = read_all()
    return images[-TEST_RECORDS:], labels[-TEST_RECORDS:]


def write_files(directory: Path) -> list[str]:
    """Writes the training images to ArrayRecord files and returns their names: a byte of label, 64 bytes of pixels."""
    images, labels = read_all()
    pixels = (images[:-TEST_RECORDS] * 16).astype(np.uint8)
    records = [bytes([label]) + image.tobytes() for image, label in zip(pixels, labels, strict=False)]
    return grain.sources.write_array_record(directory / "digits.arrayrecord", records, shards=2)


def decode(record: bytes) -> Element:
    """Returns the image and the label of a record."""
    values = np.frombuffer(record, np.uint8)
    return {"image": values[1:].reshape(8, 8).astype(np.float32) / 16, "label": values[0].astype(np.int32)}


def augment(element: Element, rng: np.random.Generator) -> Element:
    """Moves some images by a pixel, changes the contrast and adds noise."""
    canvas = np.zeros((10, 10), np.float32)
    canvas[1:9, 1:9] = element["image"]
    down, right = rng.choice(3, size=2, p=[0.2, 0.6, 0.2])
    image = canvas[down : down + 8, right : right + 8] * np.float32(rng.uniform(0.8, 1.2))
    return {**element, "image": image + 0.05 * rng.standard_normal(image.shape, np.float32)}


def pipeline(files: list[str], workers: int) -> grain.IterDataset[Element]:
    """Returns the training batches, without end."""
    return (
        grain.MapDataset.source(grain.sources.ArrayRecordDataSource(files))
        .seed(42)
        .shuffle()
        .repeat()
        .map(decode)
        .random_map(augment)
        .batch(BATCH_SIZE, drop_remainder=True)
        .to_iter_dataset()
        .mp_prefetch(grain.MultiprocessingOptions(num_workers=workers))
    )
