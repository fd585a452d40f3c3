"""Each host's rows as one array over all hosts."""

import os
import pathlib
import socket
import subprocess
import sys

import numpy as np
import pytest

import grain
from grain.experimental import make_global_array

jax = pytest.importorskip("jax")
pytestmark = pytest.mark.filterwarnings("default")  # of JAX


def mesh():
    return jax.sharding.Mesh(np.array(jax.devices("cpu")), ("data",))


def test_on_one_host_the_local_batch_is_the_global_one():
    count = len(jax.devices("cpu"))
    batch = make_global_array({"x": np.arange(4 * count), "n": np.float32(3)}, mesh())
    assert batch["x"].tolist() == list(range(4 * count))
    assert batch["x"].sharding.spec == jax.sharding.PartitionSpec("data")
    assert float(batch["n"]) == 3


def test_axes_belong_to_a_mesh():
    sharding = jax.sharding.NamedSharding(mesh(), jax.sharding.PartitionSpec("data"))
    assert make_global_array(np.arange(4 * len(jax.devices("cpu"))), mesh(), "data").sharding == sharding
    with pytest.raises(ValueError, match="with a Mesh only"):
        make_global_array(np.arange(4), sharding, "data")


def test_two_hosts_train_on_global_batches_and_save_a_file_each(tmp_path):
    pytest.importorskip("orbax.checkpoint")
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    script = pathlib.Path(__file__).with_name("hosts_script.py")
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    hosts = [
        subprocess.Popen(
            [sys.executable, script, str(host), "2", address, tmp_path / "run"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )
        for host in range(2)
    ]  # fmt: skip
    try:
        shown = [host.communicate(timeout=120) for host in hosts]
    finally:
        for host in hosts:
            host.kill()
    for host, (_, errors) in zip(hosts, shown, strict=True):
        assert host.returncode == 0, errors[-3000:]
    order = list(grain.MapDataset.range(64).shuffle(seed=1))
    sums = [f"sum {2 * sum(order[start : start + 8])}" for start in (0, 8, 16, 24)]
    for output, _ in shown:
        mine = [line for line in output.splitlines() if line.startswith(("sum", "files"))]
        assert mine == [*sums, "files ['process_0-of-2.json', 'process_1-of-2.json']"]
