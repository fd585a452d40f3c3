"""A small training run on JAX that can be killed at any moment: it goes on from the last whole checkpoint.

    python train_script.py DIRECTORY STEPS WORKERS MOST

Prints a line for each step it takes: its number and what its batch was. After the MOST-th one it waits to be killed.
"""

import os
import pathlib
import shutil
import sys

import jax
import numpy as np

import grain

WIDTH = 8


def pipeline(workers: int) -> grain.IterDataset:
    ds = grain.MapDataset.range(1000).seed(7).shuffle().repeat()
    ds = ds.random_map(lambda x, rng: (rng.normal(size=WIDTH).astype(np.float32) + x % 7, np.float32(x)))
    ds = ds.to_iter_dataset().filter(lambda example: example[1] % 5 != 0).batch(8)
    return ds.mp_prefetch(grain.MultiprocessingOptions(num_workers=workers))


@jax.jit
def train(weights, batch):
    inputs, targets = batch

    def loss(weights):
        return ((inputs @ weights - targets / 1000) ** 2).mean()

    return weights - 0.001 * jax.grad(loss)(weights)


def save(directory: pathlib.Path, step: int, weights: jax.Array, it: grain.DatasetIterator) -> None:
    """Weights and data together or not at all: the rename is what counts."""
    unfinished = directory / f"unfinished-{step}"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    np.save(unfinished / "weights.npy", np.asarray(weights))
    grain.checkpoint.save(unfinished / "data.json", it)
    os.rename(unfinished, directory / f"{step:06d}")
    for old in sorted(directory.glob("[0-9]*"))[:-2]:
        shutil.rmtree(old)


def main(directory: pathlib.Path, steps: int, workers: int, most: int) -> None:
    it = iter(pipeline(workers))
    step, weights = 0, jax.numpy.zeros(WIDTH, np.float32)
    if saved := sorted(directory.glob("[0-9]*")):
        step, weights = int(saved[-1].name), jax.numpy.asarray(np.load(saved[-1] / "weights.npy"))
        grain.checkpoint.restore(saved[-1] / "data.json", it)
    end = step + most
    while step < steps:
        batch = next(it)
        weights = train(weights, batch)
        step += 1
        print(step, " ".join(str(int(x)) for x in batch[1]), f"{float(batch[0].sum()):.6f}", flush=True)
        if step % 3 == 0 or step == steps:
            save(directory, step, weights, it)
        if step == end:
            sys.stdin.read()
    it.close()
    print("weights", np.asarray(weights).tobytes().hex(), flush=True)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:]))
