"""Train a classifier with JAX and Flax NNX, kill it, resume it with Orbax: nothing changes. `make demo` runs this.

The pipeline is in grain/_src/demo/digits.py, the training loop in training.py beside it, and story.py runs the three
trainings. `python -m grain demo` tells the same story without JAX.
"""

import logging
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import optax
import orbax.checkpoint as ocp
from flax import nnx

import grain
from grain._src.demo import story


class Classifier(nnx.Module):
    """Two convolutions and two dense layers over images of 8×8 pixels."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.conv1 = nnx.Conv(1, 8, kernel_size=(3, 3), rngs=rngs)
        self.conv2 = nnx.Conv(8, 16, kernel_size=(3, 3), rngs=rngs)
        self.dense1 = nnx.Linear(4 * 4 * 16, 64, rngs=rngs)
        self.dense2 = nnx.Linear(64, 10, rngs=rngs)

    def __call__(self, images: jax.Array) -> jax.Array:
        x = nnx.relu(self.conv1(images[..., None]))
        x = nnx.max_pool(nnx.relu(self.conv2(x)), (2, 2), strides=(2, 2))
        return self.dense2(nnx.relu(self.dense1(x.reshape(len(x), -1))))


def loss_of(model: Classifier, images: jax.Array, labels: jax.Array) -> jax.Array:
    return optax.softmax_cross_entropy_with_integer_labels(model(images), labels).mean()


@nnx.jit  # compiled as a whole it starts sooner than operation by operation
def create() -> tuple[Classifier, nnx.Optimizer]:
    model = Classifier(nnx.Rngs(0))
    return model, nnx.Optimizer(model, optax.adam(3e-3), wrt=nnx.Param)


@nnx.jit
def train_step(model: Classifier, optimizer: nnx.Optimizer, images: jax.Array, labels: jax.Array) -> jax.Array:
    loss, gradients = nnx.value_and_grad(loss_of)(model, images, labels)
    optimizer.update(model, gradients)
    return loss


@nnx.jit
def accuracy_of(model: Classifier, images: jax.Array, labels: jax.Array) -> jax.Array:
    return (model(images).argmax(axis=-1) == labels).mean()


class NnxModel:
    """The model, its optimizer, and the Orbax checkpoints that hold them together with the iterator."""

    def __init__(self) -> None:
        self.model, self.optimizer = create()

    def step(self, images: np.ndarray, labels: np.ndarray) -> float:
        return float(train_step(self.model, self.optimizer, images, labels))

    def accuracy(self, images: np.ndarray, labels: np.ndarray) -> float:
        return float(accuracy_of(self.model, images, labels))

    def save(self, directory: Path, step: int, iterator: grain.DatasetIterator[Any]) -> None:
        self._manager(directory).save(
            step,
            args=ocp.args.Composite(
                model=ocp.args.StandardSave(nnx.to_pure_dict(nnx.state((self.model, self.optimizer)))),
                data=grain.checkpoint.CheckpointSave(iterator),
            ),
        )

    def restore(self, directory: Path, iterator: grain.DatasetIterator[Any]) -> int:
        manager = self._manager(directory)
        step = manager.latest_step()
        if step is None:
            return 0
        state = nnx.state((self.model, self.optimizer))
        restored = manager.restore(
            step,
            args=ocp.args.Composite(
                model=ocp.args.StandardRestore(nnx.to_pure_dict(state)),
                data=grain.checkpoint.CheckpointRestore(iterator),
            ),
        )
        nnx.replace_by_pure_dict(state, restored["model"])
        nnx.update((self.model, self.optimizer), state)
        return int(step)

    def _manager(self, directory: Path) -> ocp.CheckpointManager:
        if not hasattr(self, "_opened"):
            self._opened = ocp.CheckpointManager(directory, options=ocp.CheckpointManagerOptions(max_to_keep=2))
        return self._opened

    def parameters(self) -> list[np.ndarray]:
        return [np.asarray(value) for value in jax.tree.leaves(nnx.state(self.model, nnx.Param))]

    def close(self) -> None:
        self._opened.close()


if __name__ == "__main__":
    logging.getLogger("absl").setLevel(logging.ERROR)  # that a killed run left a part of a checkpoint is no news here
    sys.exit(story.main([sys.executable, __file__], NnxModel, "Training with JAX and Flax NNX", sys.argv[1:]))
