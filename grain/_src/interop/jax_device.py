"""Prefetching to devices: batches are put there by a thread, ahead of the training step that takes them."""

import dataclasses
from typing import Any

from grain._src import arguments
from grain._src.api.dataset import Dataset, checked_dataset
from grain._src.api.iter_dataset import IterDataset
from grain._src.api.map_dataset import MapDataset
from grain._src.frozen import frozen
from grain._src.interop.jax_arrays import place
from grain._src.nodes.base import Node
from grain._src.nodes.prefetch import ThreadPrefetch
from grain._src.nodes.steps import StreamMap


@frozen
class DevicePut(StreamMap):
    """The same elements, on devices."""

    name = "device_put"
    transparent = True


@dataclasses.dataclass(frozen=True)
class Placement:
    """A function that puts an element where `device` says."""

    device: Any

    def __call__(self, element: Any) -> Any:
        return place(element, self.device)


def device_put(
    ds: Dataset[Any], device: Any, *, cpu_buffer_size: int = 4, device_buffer_size: int = 2
) -> IterDataset[Any]:
    """Returns the stream with each element on `device`, some of them ahead of what is asked for.

    One thread computes elements, another moves them; the state is that of what was handed out.

        ds = device_put(ds, jax.sharding.NamedSharding(mesh, PartitionSpec("data")))

    Args:
      ds: the stream, or a dataset with random access, which is read as `to_iter_dataset()` does by default.
      device: a `jax.Device`, a `jax.sharding.Sharding`, or a Mesh over whose first axis the rows are split. Where
        devices of other hosts take part, every host gives its rows of the global batch.
      cpu_buffer_size: how many elements to hold ready in this process's memory.
      device_buffer_size: how many elements to hold ready on the device.
    """
    checked_dataset("ds", ds, Dataset)
    if isinstance(ds, MapDataset):
        ds = ds.to_iter_dataset()
    here = _ahead(ds._node, arguments.non_negative("cpu_buffer_size", cpu_buffer_size))
    there = DevicePut(here, Placement(device))
    ahead = arguments.non_negative("device_buffer_size", device_buffer_size)
    return IterDataset._of(_ahead(there, ahead), (ds,))


def _ahead(node: Node, size: int) -> Node:
    return ThreadPrefetch(node, size) if size else node
