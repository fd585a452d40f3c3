"""DataLoader: a source, a sampler and a list of operations."""

import os
from collections.abc import Awaitable, Iterator, Sequence
from typing import Any, Self, cast

from grain._src import arguments, samplers
from grain._src.api.dataset import draw, show
from grain._src.api.loader_pipeline import build, check_operation
from grain._src.api.loader_state import StateFormat
from grain._src.api.map_dataset import MapDataset
from grain._src.checkpoint.storage import DirectoryStorage
from grain._src.engine.run import iterate, on_workers
from grain._src.nodes.base import Node
from grain._src.nodes.loader_source import SampledSource
from grain._src.nodes.stream import without_calls
from grain._src.options import MultiprocessingOptions, ReadOptions, checked_read_options
from grain._src.sharding import ShardOptions

_STORAGE = DirectoryStorage()


class DataLoader:
    """Reads the records that a sampler names and transforms them.

    >>> import grain
    >>> class Double(grain.transforms.Map):
    ...     def map(self, element):
    ...         return 2 * element
    >>> loader = grain.DataLoader(
    ...     data_source=range(5),
    ...     sampler=grain.samplers.IndexSampler(num_records=5, num_epochs=1, shuffle=True, seed=3),
    ...     operations=[Double(), grain.transforms.Batch(2)],
    ... )
    >>> [batch.tolist() for batch in loader]
    [[8, 6], [0, 2], [4]]

    Args:
      data_source: anything with `__len__` and `__getitem__`.
      sampler: says which record to read at which index.
      operations: transformations, in order.
      worker_count: how many processes compute; 0 is none, None lets the machine decide. Neither the output nor the state
        depends on it.
      worker_buffer_size: how many blocks of elements a worker may compute ahead, beside the one it is at.
      shard_options: the part to read; by default the sampler's. The loader reads the indices shard_index,
        shard_index + shard_count, … of the sampler; it leaves out the last incomplete round if they say drop_remainder.
      read_options: how records are read ahead.
      enable_profiling: accepted for compatibility.
    """

    def __init__(
        self,
        *,
        data_source: Any,
        sampler: samplers.Sampler,
        operations: Sequence[Any] = (),
        worker_count: int | None = 0,
        worker_buffer_size: int = 1,
        shard_options: ShardOptions | None = None,
        read_options: ReadOptions | None = None,
        enable_profiling: bool = False,
    ) -> None:
        self._data_source = data_source
        self._sampler = samplers.check_sampler(sampler)
        self._operations = tuple(arguments.sequence("operations", operations, "transformations"))
        for number, operation in enumerate(self._operations):
            check_operation(number, operation)
        self._shard_options = _shard_options(shard_options, sampler)
        self._read_options = checked_read_options(read_options)
        workers = _usable_cores() if worker_count is None else arguments.non_negative("worker_count", worker_count)
        ahead = arguments.non_negative("worker_buffer_size", worker_buffer_size)
        self._multiprocessing_options = MultiprocessingOptions(workers, max(1, ahead), enable_profiling)
        self._sampled = self._sample()
        self._node = self._build()

    def _sample(self) -> SampledSource:
        options, own = self._shard_options, samplers.is_own(self._sampler)
        return SampledSource(
            parent=MapDataset.source(self._data_source)._map_node,
            sampler=self._sampler,
            first=options.shard_index,
            step=options.shard_count,
            count=samplers.reads_of(self._sampler, options),
            own=own,
            seed=getattr(self._sampler, "_seed", None) if own else None,
        )

    def _build(self) -> Node:
        node = build(self._sampled, self._operations, self._read_options)
        options = self._multiprocessing_options
        return on_workers(node, options) if options.num_workers else node

    @property
    def multiprocessing_options(self) -> MultiprocessingOptions:
        """How the work is spread over processes."""
        return self._multiprocessing_options

    def __iter__(self) -> "DataLoaderIterator":
        return DataLoaderIterator(self, state=None)

    def __repr__(self) -> str:
        return "\n".join(draw(self._node))

    def __str__(self) -> str:
        return show(self._node)


class DataLoaderIterator(Iterator[Any]):
    """A running loader: `next` gives elements, `get_state` and `set_state` its position, as bytes.

    Args:
      data_loader: what to run.
      state: where to begin; None is the beginning.
      validate_state: whether to check that a state was taken from the same sampler and source.
    """

    def __init__(self, data_loader: DataLoader, state: bytes | None, validate_state: bool = True) -> None:
        self._data_loader = data_loader
        self._validate_state = arguments.flag("validate_state", validate_state)
        self._format = StateFormat(data_loader._sampled, data_loader._data_source)
        self._iterator = iterate(data_loader._node)
        self._elements = without_calls(self._iterator)
        self._pipeline = data_loader._node
        if state is not None:
            self.set_state(state)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        for element in self._elements:
            return element
        raise StopIteration

    def get_state(self) -> bytes:
        """Returns JSON that means: resume right after what was handed out. It does not depend on the workers."""
        return self._format.encode(self._iterator.get_state())

    def set_state(self, state: bytes) -> None:
        """Goes to where `state` was taken; raises a StateError that says what differs if it is of another loader."""
        self._iterator.set_state(self._format.decode(state, self._validate_state))

    async def save(self, directory: Any) -> Awaitable[None]:
        """Takes the state now and returns an awaitable that writes it into `directory`: the protocol of Orbax."""
        return _STORAGE.save(cast(Any, self), directory)

    async def load(self, directory: Any) -> Awaitable[None]:
        """Returns an awaitable that goes to where `save` into `directory` was called: the protocol of Orbax."""
        return _STORAGE.load(cast(Any, self), directory)

    def start_prefetch(self) -> None:
        """Begins to work ahead before the first `next`."""
        self._iterator.start_prefetch()

    def close(self) -> None:
        """Ends the background work; a later `next` is an error."""
        self._iterator.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __str__(self) -> str:
        return f"DataLoaderIterator(state={self.get_state().decode()})"


def _shard_options(given: ShardOptions | None, sampler: Any) -> ShardOptions:
    options = getattr(sampler, "_shard_options", None) if given is None else given
    if options is None:
        raise ValueError(
            f"shard_options must be given with a sampler of your own ({type(sampler).__name__}): "
            "grain.sharding.NoSharding() reads everything here, ShardByJaxProcess() one part for each JAX process"
        )
    return samplers.check_shard_options(options)


def _usable_cores() -> int:
    """Returns a number of workers for this machine: one a core, none if there is only one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores if cores > 1 else 0
