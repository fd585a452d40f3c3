"""Pipelines of global batches, of which each host gets its part, and which go on with any number of hosts."""

from typing import Any, Protocol, runtime_checkable

from grain._src import arguments
from grain._src.api.dataset import Dataset, checked_dataset
from grain._src.api.iter_dataset import IterDataset
from grain._src.api.map_dataset import MapDataset
from grain._src.engine.run import on_workers
from grain._src.nodes.base import Node
from grain._src.nodes.batch import StreamBatch
from grain._src.nodes.elastic import shard_global_batch
from grain._src.nodes.stream import DatasetIterator
from grain._src.nodes.to_iter import ToIter
from grain._src.options import MultiprocessingOptions, ReadOptions, checked_read_options


@runtime_checkable
class Shard(Protocol):
    """Which of how many hosts: a `grain.sharding.ShardOptions`."""

    shard_index: int
    shard_count: int


class ElasticIterator(IterDataset[Any]):
    """One host's part of global batches of `ds`; its state is the position of all hosts together, in records.

    So a run saved on N hosts goes on with M, and with another batch size, with the same sequence of records. The last
    batch is dropped if it is not full; it is an iterator of its own, too, with `next`, `get_state` and `set_state`.

    >>> import grain
    >>> first = ElasticIterator(grain.MapDataset.range(8), 4, grain.sharding.ShardOptions(0, 2))
    >>> next(first).tolist(), first.get_state()
    ([0, 2], {'global_next_index': 4})
    >>> alone = ElasticIterator(grain.MapDataset.range(8), 2, grain.sharding.NoSharding())
    >>> alone.set_state(first.get_state())
    >>> [batch.tolist() for batch in alone]
    [[4, 5], [6, 7]]

    Args:
      ds: the records of all hosts. With `filter` or `flat_map` in it every host computes all of them.
      global_batch_size: how many records all hosts take at a time; each gets an equal part.
      shard_options: which host this is, of how many.
      read_options: how this host reads ahead.
      multiprocessing_options: worker processes of this host.
    """

    def __init__(
        self,
        ds: MapDataset[Any],
        global_batch_size: int,
        shard_options: Shard,
        *,
        read_options: ReadOptions | None = None,
        multiprocessing_options: MultiprocessingOptions | None = None,
    ) -> None:
        if isinstance(ds, IterDataset):
            raise TypeError(
                f"ds must be a MapDataset, got {type(ds).__name__}. For a stream use grain.experimental.shard_batches."
            )
        super().__init__(checked_dataset("ds", ds, MapDataset))
        size = arguments.positive("global_batch_size", global_batch_size)
        batches = StreamBatch(ToIter(ds._map_node, checked_read_options(read_options)), size, True)
        node = shard_global_batch(batches, *_shard(shard_options))
        if multiprocessing_options is not None:
            options = arguments.instance(
                "multiprocessing_options",
                multiprocessing_options,
                MultiprocessingOptions,
                "grain.MultiprocessingOptions",
            )
            node = on_workers(node, options)
        self._own_node: Node = node
        self._pipeline = node
        self._running: DatasetIterator[Any] | None = None

    def __iter__(self) -> DatasetIterator[Any]:
        if self._running is None:
            self._running = super().__iter__()
        return self._running

    def __next__(self) -> Any:
        return next(iter(self))

    def get_state(self) -> dict[str, Any]:
        """Returns how many records all hosts together have taken."""
        return iter(self).get_state()

    def set_state(self, state: dict[str, Any]) -> None:
        """Goes to where `state` was taken, on whatever number of hosts."""
        iter(self).set_state(state)

    def close(self) -> None:
        """Ends the background work."""
        if self._running is not None:
            self._running.close()


def shard_batches(ds: MapDataset[Any] | IterDataset[Any], shard_options: Shard) -> IterDataset[Any]:
    """Returns this host's part of each batch of `ds`, a pipeline that ends in `batch(global_batch_size)`.

    The state is the same on every host and counts for all of them: it goes on with another number of hosts and another
    batch size. A last batch that is not full is dropped.

    >>> import grain
    >>> ds = grain.MapDataset.range(100).to_iter_dataset().filter(lambda x: x % 10 == 0).batch(4)
    >>> [batch.tolist() for batch in shard_batches(ds, grain.sharding.ShardOptions(1, 2))]
    [[10, 30], [50, 70]]

    Args:
      ds: where nothing is dropped (maps over a dataset with random access) a host computes its own records only; else
        every host runs the whole pipeline up to the batch and keeps its part.
      shard_options: which host this is, of how many.
    """
    checked_dataset("ds", ds, Dataset)
    return IterDataset._of(shard_global_batch(ds._node, *_shard(shard_options)), (ds,))


def _shard(options: Shard) -> tuple[int, int]:
    arguments.instance("shard_options", options, Shard, "grain.sharding.ShardOptions")  # type: ignore[type-abstract]
    count = arguments.positive("shard_count", options.shard_count)
    index = arguments.non_negative("shard_index", options.shard_index)
    if index >= count:
        raise ValueError(f"shard_index must be less than shard_count, got {index} of {count}")
    return index, count
