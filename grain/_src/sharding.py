"""Sharding: which part of the data one host of several reads."""

import dataclasses

from grain._src import arguments
from grain._src.interop.jax_processes import process_index_and_count


@dataclasses.dataclass(frozen=True)
class ShardOptions:
    """One part of several that the records are split into.

    >>> ShardOptions(shard_index=1, shard_count=4)
    ShardOptions(shard_index=1, shard_count=4, drop_remainder=False)

    Args:
      shard_index: which part, from 0 to shard_count - 1.
      shard_count: how many parts there are.
      drop_remainder: whether to leave out records so that all parts are equally long.
    """

    shard_index: int
    shard_count: int
    drop_remainder: bool = False

    def __post_init__(self) -> None:
        arguments.positive("shard_count", self.shard_count)
        if not 0 <= arguments.integer("shard_index", self.shard_index) < self.shard_count:
            raise ValueError(
                f"shard_index must be between 0 and shard_count - 1 = {self.shard_count - 1}, got {self.shard_index!r}"
            )
        arguments.flag("drop_remainder", self.drop_remainder)


@dataclasses.dataclass(frozen=True, init=False)
class NoSharding(ShardOptions):
    """All the records in one part.

    >>> NoSharding()
    NoSharding(shard_index=0, shard_count=1, drop_remainder=False)
    """

    def __init__(self) -> None:
        super().__init__(shard_index=0, shard_count=1, drop_remainder=False)


@dataclasses.dataclass(frozen=True, init=False)
class ShardByJaxProcess(ShardOptions):
    """One part for each JAX process; JAX is asked when this is constructed, after `jax.distributed.initialize`.

    Args:
      drop_remainder: whether to leave out records so that all processes read equally many, and end together.
    """

    def __init__(self, drop_remainder: bool = False) -> None:
        index, count = process_index_and_count()
        super().__init__(shard_index=index, shard_count=count, drop_remainder=drop_remainder)


def even_split(length: int, options: ShardOptions) -> tuple[int, int]:
    """Returns where a shard's part of `length` records begins and ends; the first parts take one more each.

    >>> [even_split(11, ShardOptions(i, 3)) for i in range(3)]
    [(0, 4), (4, 8), (8, 11)]
    >>> [even_split(11, ShardOptions(i, 3, drop_remainder=True)) for i in range(3)]
    [(0, 3), (3, 6), (6, 9)]
    """
    size, rest = divmod(length, options.shard_count)
    if options.drop_remainder:
        rest = 0
    start = options.shard_index * size + min(options.shard_index, rest)
    return start, start + size + (options.shard_index < rest)
