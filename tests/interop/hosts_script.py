"""One of several JAX processes on this machine: makes global arrays, saves with Orbax, goes on from it."""

import pathlib
import sys
import warnings

warnings.simplefilter("ignore")

import jax  # noqa: E402
import numpy as np  # noqa: E402
import orbax.checkpoint as ocp  # noqa: E402

import grain  # noqa: E402
from grain.experimental import ElasticIterator, device_put, make_global_array  # noqa: E402


def main(host: int, hosts: int, address: str, directory: str) -> None:
    jax.distributed.initialize(address, hosts, host)
    mesh = jax.make_mesh((jax.device_count(),), ("data",))
    total = jax.jit(lambda batch: batch["x"].sum())
    elastic = ElasticIterator(
        grain.MapDataset.range(64).shuffle(seed=1).map(lambda x: {"x": np.full(2, x, np.int32), "step": np.int32(7)}),
        8,
        grain.sharding.ShardByJaxProcess(),
    )
    it = iter(elastic.map(lambda batch: {"x": batch["x"], "step": batch["step"][0]}))
    with ocp.CheckpointManager(directory) as manager:
        for _ in range(2):
            batch = make_global_array(next(it), mesh)
            assert batch["x"].shape == (8, 2), batch["x"].shape
            assert batch["step"].shape == ()
            print("sum", int(total(batch)), flush=True)
        manager.save(0, args=grain.checkpoint.CheckpointSave(it))
        manager.wait_until_finished()
        sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
        ahead = iter(device_put(elastic.map(lambda batch: {"x": batch["x"]}), sharding))
        manager.restore(0, args=grain.checkpoint.CheckpointRestore(ahead, allow_changes=True))
        for _ in range(2):
            print("sum", int(total(next(ahead))), flush=True)
    print("files", sorted(path.name for path in pathlib.Path(directory).glob("0/*/process*")), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4])
