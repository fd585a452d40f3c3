"""The training loop of the demonstration; it reports what it does on standard output, a JSON object a line."""

import dataclasses
import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import grain
from grain._src.demo import digits

SAVE_EVERY = 25


class Model(Protocol):
    """What is trained: parameters that can take a step, and that are saved together with the iterator."""

    def step(self, images: np.ndarray[Any, Any], labels: np.ndarray[Any, Any]) -> float:
        """Takes a step of gradient descent and returns the loss before it."""

    def accuracy(self, images: np.ndarray[Any, Any], labels: np.ndarray[Any, Any]) -> float:
        """Returns the share of the images that are recognized."""

    def save(self, directory: Path, step: int, iterator: grain.DatasetIterator[Any]) -> None:
        """Writes a checkpoint of the parameters and of the iterator."""

    def restore(self, directory: Path, iterator: grain.DatasetIterator[Any]) -> int:
        """Goes to the last checkpoint and returns its step; 0 if there is none."""

    def parameters(self) -> list[np.ndarray[Any, Any]]:
        """Returns the parameters."""

    def close(self) -> None:
        """Waits until everything is written."""


@dataclasses.dataclass(frozen=True)
class Run:
    """One run of the training.

    Args:
      files: the ArrayRecord files to read.
      directory: where checkpoints go.
      workers: how many worker processes compute batches.
      steps: how many steps to train.
    """

    files: list[str]
    directory: str
    workers: int
    steps: int


def train(run: Run, make_model: Callable[[], Model]) -> None:
    """Trains from the last checkpoint, or from the beginning, up to the last step."""
    directory = Path(run.directory)
    model = make_model()
    with iter(digits.pipeline(run.files, run.workers)) as batches:
        start = model.restore(directory, batches)
        _report(event="begin", step=start)
        _loop(run, model, batches, start, directory)
    model.close()
    images, labels = digits.test_set()
    _report(event="end", accuracy=model.accuracy(images, labels), parameters=digest(model.parameters()))


def _loop(run: Run, model: Model, batches: grain.DatasetIterator[Any], start: int, directory: Path) -> None:
    images, labels = digits.test_set()
    accuracy = model.accuracy(images, labels)
    waited = worked = 0.0
    for step in range(start + 1, run.steps + 1):
        began = time.perf_counter()
        batch = next(batches)
        got = time.perf_counter()
        loss = model.step(batch["image"], batch["label"])
        done = time.perf_counter()
        if step > start + 2:  # the first steps start workers and compile
            waited, worked = waited + got - began, worked + done - began
        if step % SAVE_EVERY == 0:
            model.save(directory, step, batches)
            accuracy = model.accuracy(images, labels)
        _report(
            event="step",
            step=step,
            loss=loss,
            accuracy=accuracy,
            batch=digest([batch["image"], batch["label"]]),
            rate=digits.BATCH_SIZE * (step - start - 2) / worked if worked else 0.0,
            waiting=waited / worked if worked else 0.0,
        )


def digest(arrays: list[np.ndarray[Any, Any]]) -> str:
    """Returns a short text that stands for the arrays, bit for bit."""
    digester = hashlib.blake2b(digest_size=8)
    for array in arrays:
        digester.update(f"{array.dtype}{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return digester.hexdigest()


def _report(**values: Any) -> None:
    print(json.dumps(values), flush=True)
