"""Batches as JAX arrays: on a device, sharded over devices, or global over the hosts of a mesh."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from grain._src.sources.optional import require


def place(batch: Any, device: Any) -> Any:
    """Returns `batch` on a device, or laid out as a Sharding or Mesh says.

    Where devices of other hosts take part, `batch` is this host's part of the global one.
    """
    jax = require("jax", "putting batches on devices")
    if isinstance(device, jax.sharding.Mesh):
        return make_global_array(batch, device)
    if isinstance(device, jax.sharding.Sharding) and not device.is_fully_addressable:
        return make_global_array(batch, device)
    return jax.device_put(batch, device)


def make_global_array(batch: Any, sharding: Any, axes: str | Sequence[str] | None = None) -> Any:
    """Returns the global batch of which every host holds its local `batch`: each leaf one `jax.Array` over the mesh.

    All hosts call it, each with its own rows; the global batch has the rows of host 0 first, then those of host 1, ….

        mesh = jax.make_mesh((jax.device_count(),), ("data",))
        batch = make_global_array(next(it), mesh)

    Args:
      batch: a tree of arrays with the same number of rows on every host. Scalars must be equal on all hosts.
      sharding: a `jax.sharding.Sharding`, or a Mesh over some axes of which the rows are split.
      axes: which axes of the mesh; the first one by default.
    """
    jax = require("jax", "making global arrays")
    if isinstance(sharding, jax.sharding.Mesh):
        mesh, names = sharding, axes if axes is not None else sharding.axis_names[0]
        rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(names))
        whole = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    elif axes is not None:
        raise ValueError(f"axes can be given with a Mesh only; this is a {type(sharding).__name__} with axes={axes!r}")
    else:
        rows = whole = sharding
    from_local = jax.make_array_from_process_local_data

    def to_global(leaf: Any) -> Any:
        array = np.asarray(leaf)
        return from_local(rows if array.ndim else whole, array)

    return jax.tree.map(to_global, batch)
