"""load: a loader from a source and a few options."""

from collections.abc import Sequence
from typing import Any

from grain._src import arguments, transforms
from grain._src.api.loader import DataLoader
from grain._src.api.map_dataset import check_records
from grain._src.options import ReadOptions
from grain._src.samplers import IndexSampler
from grain._src.sharding import NoSharding, ShardOptions

_ALL_RECORDS = NoSharding()


def load(
    source: Any,
    *,
    num_epochs: int | None = None,
    shuffle: bool = False,
    seed: int | None = None,
    shard_options: ShardOptions = _ALL_RECORDS,
    transformations: Sequence[transforms.Transformation] = (),
    batch_size: int | None = None,
    drop_remainder: bool = False,
    worker_count: int | None = 0,
    read_options: ReadOptions | None = None,
) -> DataLoader:
    """Returns a `DataLoader` over `source` with an `IndexSampler`.

    >>> import grain
    >>> [batch.tolist() for batch in grain.load(range(5), num_epochs=1, shuffle=True, seed=3, batch_size=2)]
    [[4, 3], [0, 1], [2]]

    Args:
      source: anything with `__len__` and `__getitem__`.
      num_epochs: how often to go through it; None goes on without end.
      shuffle: whether to shuffle, anew each epoch; needs a seed.
      seed: of the shuffling and of the random transformations.
      shard_options: the part to read.
      transformations: to apply, in order.
      batch_size: how many elements to stack at the end; None leaves them single.
      drop_remainder: whether to drop a last batch that is not full.
      worker_count: how many processes compute.
      read_options: how records are read ahead.
    """
    check_records(source)
    operations = arguments.sequence("transformations", transformations, "transformations")
    arguments.flag("drop_remainder", drop_remainder)
    if batch_size is not None:
        operations.append(transforms.Batch(batch_size, drop_remainder=drop_remainder))
    return DataLoader(
        data_source=source,
        sampler=IndexSampler(len(source), shard_options, shuffle, num_epochs, seed),
        operations=operations,
        worker_count=worker_count,
        read_options=read_options,
    )
