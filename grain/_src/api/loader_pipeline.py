"""Turns a loader's operations into the nodes of a pipeline."""

from collections.abc import Sequence
from typing import Any

from grain._src import operations as old
from grain._src import transforms
from grain._src.api.packing import PackAndBatchOperation
from grain._src.nodes import loader_records as records
from grain._src.nodes import loader_steps as steps
from grain._src.nodes.base import Node
from grain._src.nodes.batch import StreamBatch
from grain._src.nodes.flat_map import StreamFlatMap
from grain._src.nodes.loader_operation import StreamOperation
from grain._src.nodes.loader_source import SampledRecords, SampledSource
from grain._src.nodes.to_iter import ToIter
from grain._src.options import ReadOptions

_ELEMENTWISE = (
    transforms.Map,
    transforms.RandomMap,
    transforms.TfRandomMap,
    transforms.MapWithIndex,
    transforms.Filter,
)
_RANDOM = (transforms.RandomMap, transforms.TfRandomMap, old.RandomMapOperation)
_REGROUPING = (transforms.Batch, transforms.FlatMap, old.BatchOperation)
_OLD = (old.MapOperation, old.RandomMapOperation, old.FilterOperation, old.BatchOperation)


def check_operation(number: int, operation: Any) -> None:
    """Raises TypeError unless `operation` is something that a loader can do."""
    if not isinstance(operation, (*_ELEMENTWISE, *_REGROUPING)) and not callable(operation):
        raise TypeError(
            f"operations[{number}] must be a grain.transforms.Map, RandomMap, MapWithIndex, Filter, FlatMap or Batch, or a "
            f"function from an iterator of grain.Record to another, got {operation!r}"
        )


def build(sampled: SampledSource, operations: Sequence[Any], read_options: ReadOptions) -> Node:
    """Returns the pipeline: metadata travels with the elements only up to the last operation that needs it there."""
    count = _records_until(operations)
    node: Node = ToIter(SampledRecords(sampled) if count else sampled, read_options, allow_nones=True)
    for operation in operations[:count]:
        node = _apply_to_records(node, operation)
    if count:
        node = steps.LoaderMap(node, records.data_of)
    for operation in operations[count:]:
        node = _apply(node, operation, sampled)
    return node


def _records_until(operations: Sequence[Any]) -> int:
    """Returns how many of the operations need elements with metadata.

    A record's number and generator follow from the position in the source, until records are joined or multiplied.
    """
    count, regrouped = 0, False
    for number, operation in enumerate(operations, 1):
        by_record = isinstance(operation, (*_RANDOM, transforms.MapWithIndex))
        opaque = _is_opaque(operation)
        if opaque or (by_record and regrouped):
            count = number
        regrouped = regrouped or opaque or isinstance(operation, _REGROUPING)
    return count


def _is_opaque(operation: Any) -> bool:
    return not isinstance(operation, (*_ELEMENTWISE, *_REGROUPING)) and type(operation) not in _OLD


def _apply(node: Node, operation: Any, sampled: SampledSource) -> Node:
    """Returns `node` with an operation on bare elements."""
    match operation:
        case transforms.Map():
            return steps.LoaderMap(node, operation.map)
        case old.MapOperation():
            return steps.LoaderMap(node, operation.map_function)
        case transforms.RandomMap() | transforms.TfRandomMap():
            return steps.LoaderRandomMap(node, transforms.random_method_of(operation), sampled)
        case old.RandomMapOperation():
            return steps.LoaderRandomMap(node, operation.random_map, sampled)
        case transforms.MapWithIndex():
            return steps.LoaderMapWithIndex(node, operation.map_with_index, sampled)
        case transforms.Filter():
            return steps.LoaderFilter(node, operation.filter)
        case old.FilterOperation():
            return steps.LoaderFilter(node, operation.condition_function)
        case transforms.FlatMap():
            return StreamFlatMap(node, operation.flat_map)
        case transforms.Batch() | old.BatchOperation():
            return StreamBatch(node, operation.batch_size, operation.drop_remainder, operation.batch_fn)
    raise AssertionError(f"{operation!r} needs records")


def _apply_to_records(node: Node, operation: Any) -> Node:
    """Returns `node` with an operation on records."""
    if _is_opaque(operation):
        return StreamOperation(node, operation, holds_last=type(operation) is PackAndBatchOperation)
    match operation:
        case transforms.Map():
            return steps.LoaderMap(node, records.MapData(operation.map))
        case old.MapOperation():
            return steps.LoaderMap(node, records.MapData(operation.map_function))
        case transforms.RandomMap() | transforms.TfRandomMap():
            return steps.LoaderMap(node, records.RandomMapData(transforms.random_method_of(operation)))
        case old.RandomMapOperation():
            return steps.LoaderMap(node, records.RandomMapData(operation.random_map))
        case transforms.MapWithIndex():
            return steps.LoaderMap(node, records.MapDataWithIndex(operation.map_with_index))
        case transforms.Filter():
            return steps.LoaderFilter(node, records.FilterData(operation.filter))
        case old.FilterOperation():
            return steps.LoaderFilter(node, records.FilterData(operation.condition_function))
        case transforms.FlatMap():
            fan = records.FlatMapData(operation.flat_map, operation.max_fan_out)
            return StreamFlatMap(node, fan)
        case transforms.Batch() | old.BatchOperation():
            stacked = records.BatchData(operation.batch_fn)
            return StreamBatch(node, operation.batch_size, operation.drop_remainder, stacked)
    raise AssertionError(f"{operation!r} is not known")
