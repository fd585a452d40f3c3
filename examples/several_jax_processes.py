"""Several JAX processes on this machine, as on several hosts: each reads its part, all compute on global arrays.

Started without arguments this script starts the processes. They save half way; then another number of processes goes on,
and together they see the records that one process alone would have seen.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import numpy as np

import grain
from grain.experimental import ElasticIterator, make_global_array

RECORDS = 256
GLOBAL_BATCH = 16


def worker(index: int, count: int, address: str, directory: Path, steps: int) -> None:
    jax.distributed.initialize(address, count, index)
    mesh = jax.make_mesh((jax.device_count(),), ("data",))
    records = grain.MapDataset.range(RECORDS).seed(1).shuffle().map(lambda n: {"x": np.float32(n)})
    it = ElasticIterator(records, GLOBAL_BATCH, grain.sharding.ShardByJaxProcess())
    saved = directory / "data.json"  # the state is the same on every process: one of them writes it
    if saved.exists():
        it.set_state(json.loads(saved.read_text()))
    total = jax.jit(lambda batch: batch["x"].sum())
    for _ in range(steps):
        local = next(it)
        batch = make_global_array(local, mesh)
        assert batch["x"].shape == (GLOBAL_BATCH,)
        result = float(total(batch))
        print(f"  process {index} of {count}: {len(local['x'])} records here, sum over all {result:.0f}", flush=True)
        if index == 0:
            with open(directory / "sums.txt", "a") as file:
                file.write(f"{result}\n")
    if index == 0:
        saved.write_text(json.dumps(it.get_state()))
    jax.distributed.shutdown()


def run(count: int, steps: int, directory: Path) -> None:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""}
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, "--process", f"{index},{count},{address},{directory},{steps}"], env=environment
        )
        for index in range(count)
    ]
    for process in processes:
        if process.wait():
            raise SystemExit(f"a process failed with status {process.returncode}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--process", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.process is not None:
        index, count, address, directory, steps = options.process.split(",")
        worker(int(index), int(count), address, Path(directory), int(steps))
        return
    steps = 2 if options.short else 4
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        print("2 processes:")
        run(2, steps, directory)
        print("going on with 1 process:" if options.short else "going on with 4 processes:")
        run(1 if options.short else 4, steps, directory)
        sums = [float(line) for line in (directory / "sums.txt").read_text().split()]
    alone = grain.MapDataset.range(RECORDS).seed(1).shuffle().batch(GLOBAL_BATCH)
    assert sums == [float(alone[step].sum()) for step in range(2 * steps)]
    print("the same sums as one process alone")


if __name__ == "__main__":
    main()
