"""Keras takes datasets and loaders as they are, with each of its backends that is here."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

pytestmark = pytest.mark.skipif(find_spec("keras") is None, reason="keras is not here")

# A model that adds the two numbers of its input: what it predicts tells which elements came, and in which order.
SCRIPT = """
import sys

import keras
import numpy as np

import grain


class Pair(grain.transforms.Map):
    def map(self, x):
        return np.array([x, 100 * x], np.float32), np.float32(101 * x)


sampler = grain.samplers.IndexSampler(10, num_epochs=1, shuffle=True, seed=1)
batches = grain.MapDataset.range(10).shuffle(seed=1).map(Pair()).batch(4)
datasets = {
    "map": batches,
    "stream": batches.to_iter_dataset(),
    "workers": batches.to_iter_dataset().mp_prefetch(grain.MultiprocessingOptions(2)),
    "loader": grain.DataLoader(data_source=range(10), sampler=sampler, operations=[Pair(), grain.transforms.Batch(4)]),
}
model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")])
model.compile(loss="mse")
for name, dataset in datasets.items():
    expected = np.concatenate([targets for _, targets in dataset])
    assert sorted(expected) == [101 * x for x in range(10)]
    np.testing.assert_array_equal(model.predict(dataset, verbose=0)[:, 0], expected)
    assert model.evaluate(dataset, verbose=0) == 0
    if keras.backend.backend() != "numpy":  # which does not train
        (loss,) = model.fit(dataset, shuffle=False, verbose=0).history["loss"]
        assert loss == 0
    print(name)
"""


@pytest.mark.parametrize("backend", ["numpy", "jax", "torch"])
def test_predict_evaluate_and_fit_get_every_element_in_order(backend):
    if find_spec(backend) is None:
        pytest.skip(f"{backend} is not here")
    environment = {**os.environ, "KERAS_BACKEND": backend}
    ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120, env=environment)
    assert ran.stdout.split() == ["map", "stream", "workers", "loader"], ran.stderr
