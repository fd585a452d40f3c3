"""A small classifier in NumPy, for machines without JAX."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

import grain

_HIDDEN = 512
_RATE = 0.1
_MOMENTUM = 0.95

Array = np.ndarray[Any, Any]


class NumpyModel:
    """Two layers, trained by gradient descent with momentum."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        sizes = [(64, _HIDDEN), (_HIDDEN, 10)]
        self._values: list[Array] = []
        for rows, columns in sizes:
            self._values += [
                rng.normal(0, rows**-0.5, (rows, columns)).astype(np.float32),
                np.zeros(columns, np.float32),
            ]
        self._velocity = [np.zeros_like(value) for value in self._values]

    def _forward(self, images: Array) -> tuple[Array, Array, Array]:
        w1, b1, w2, b2 = self._values
        pixels = images.reshape(len(images), 64)
        hidden = np.maximum(pixels @ w1 + b1, 0)
        logits = hidden @ w2 + b2
        exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
        return pixels, hidden, exponentials / exponentials.sum(axis=1, keepdims=True)

    def step(self, images: Array, labels: Array) -> float:
        """Takes a step of gradient descent and returns the loss before it."""
        pixels, hidden, shares = self._forward(images)
        rows = np.arange(len(labels))
        loss = -np.log(shares[rows, labels] + 1e-9).mean()
        error = shares.copy()
        error[rows, labels] -= 1
        error /= len(labels)
        back = (error @ self._values[2].T) * (hidden > 0)
        gradients = [pixels.T @ back, back.sum(axis=0), hidden.T @ error, error.sum(axis=0)]
        for value, velocity, gradient in zip(self._values, self._velocity, gradients, strict=True):
            velocity *= _MOMENTUM
            velocity -= _RATE * gradient
            value += velocity
        return float(loss)

    def accuracy(self, images: Array, labels: Array) -> float:
        """Returns the share of the images that are recognized."""
        return float((self._forward(images)[2].argmax(axis=1) == labels).mean())

    def save(self, directory: Path, step: int, iterator: grain.DatasetIterator[Any]) -> None:
        """Writes one file with the parameters and the iterator's state, whole or not at all."""
        directory.mkdir(parents=True, exist_ok=True)
        arrays = {f"array{number}": array for number, array in enumerate(self._values + self._velocity)}
        note = json.dumps({"step": step, "data": iterator.get_state()})
        with open(directory / "new.npz", "wb") as file:
            np.savez(file, allow_pickle=False, note=np.array(note), **arrays)
        os.replace(directory / "new.npz", directory / "last.npz")

    def restore(self, directory: Path, iterator: grain.DatasetIterator[Any]) -> int:
        """Goes to the last checkpoint and returns its step; 0 if there is none."""
        if not (directory / "last.npz").exists():
            return 0
        with np.load(directory / "last.npz") as saved:
            note = json.loads(str(saved["note"]))
            for number, array in enumerate(self._values + self._velocity):
                array[...] = saved[f"array{number}"]
        iterator.set_state(note["data"])
        return int(note["step"])

    def parameters(self) -> list[Array]:
        """Returns the parameters."""
        return self._values

    def close(self) -> None:
        """Everything is written already."""
