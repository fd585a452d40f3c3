"""What the elements of a pipeline look like, without computing one: shapes and dtypes."""

import dataclasses
from collections.abc import Callable
from functools import singledispatch
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from grain._src import trees
from grain._src.nodes.base import IndexNode, Node
from grain._src.nodes.batch import Batch, StreamBatch
from grain._src.nodes.cache import StreamCache
from grain._src.nodes.combine import Concatenate, Mix, Select
from grain._src.nodes.concat_then_split import StreamConcatThenSplit
from grain._src.nodes.custom import CustomMap, CustomStream
from grain._src.nodes.elementwise import Filter, Map, MapWithIndex, RandomMap
from grain._src.nodes.flat_map import FlatMap, StreamFlatMap
from grain._src.nodes.interleave import StreamInterleave
from grain._src.nodes.limit import StreamLimit
from grain._src.nodes.mix import StreamMix
from grain._src.nodes.packing import StreamPack
from grain._src.nodes.packing_features import Feature
from grain._src.nodes.packing_rows import put
from grain._src.nodes.prefetch import ProcessPrefetch, ThreadPrefetch
from grain._src.nodes.rebatch import StreamRebatch
from grain._src.nodes.repeat import StreamRepeat
from grain._src.nodes.source import Range
from grain._src.nodes.steps import StreamFilter, StreamMap, StreamMapWithIndex, StreamRandomMap, StreamSeed
from grain._src.nodes.to_iter import ToIter, WithOptions
from grain._src.nodes.window_shuffle import StreamWindowShuffle
from grain._src.nodes.zip import StreamZip, Zip


@runtime_checkable
class ShapeDtypeStructProtocol(Protocol):
    """Anything that says which shape and dtype a leaf has: arrays, `jax.ShapeDtypeStruct`, `ShapeDtypeStruct`."""

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The lengths of the axes; None where elements differ."""

    @property
    def dtype(self) -> npt.DTypeLike:
        """The type of the values."""


@dataclasses.dataclass(frozen=True)
class ShapeDtypeStruct:
    """The shape and dtype of a leaf.

    >>> ShapeDtypeStruct(shape=(None, 3), dtype=np.float32).shape
    (None, 3)
    """

    shape: tuple[int | None, ...]
    dtype: npt.DTypeLike


def spec_of_value(element: Any) -> Any:
    """Returns the spec of one element."""
    return trees.map_leaves(_leaf_spec, element)


def _leaf_spec(leaf: Any) -> ShapeDtypeStruct:
    array = leaf if isinstance(leaf, ShapeDtypeStructProtocol) else np.asarray(leaf)
    return ShapeDtypeStruct(tuple(array.shape), array.dtype)


def _map_spec(function: Callable[[Any], Any], spec: Any) -> Any:
    shape = None if isinstance(spec, ShapeDtypeStructProtocol) else trees.open_container(spec)
    return function(spec) if shape is None else shape.build([_map_spec(function, child) for child in shape.children])


@singledispatch
def element_spec(node: Node) -> Any:
    """Returns the spec of the elements of `node`; NotImplementedError or ValueError where it is not known."""
    raise NotImplementedError(f"what the elements of `{node.describe()}` look like is not known without reading one")


@element_spec.register
def _(node: Range) -> Any:
    return ShapeDtypeStruct((), np.int64)


@element_spec.register(CustomMap)
@element_spec.register(CustomStream)
def _(node: CustomMap | CustomStream) -> Any:
    if not hasattr(type(node.dataset), "_element_spec"):
        raise NotImplementedError(f"{type(node.dataset).__name__} has no `_element_spec` property")
    return node.dataset._element_spec


for _same in (
    IndexNode, Filter, ToIter, WithOptions, ProcessPrefetch, ThreadPrefetch, StreamFilter, StreamSeed, StreamLimit,
    StreamRepeat, StreamCache, StreamWindowShuffle, Mix, Concatenate, Select, StreamMix,
):  # fmt: skip
    element_spec.register(_same, lambda node: element_spec(node.parents[0]))


@element_spec.register
def _(node: StreamInterleave) -> Any:
    return element_spec(node.components[0])


@element_spec.register(Zip)
@element_spec.register(StreamZip)
def _(node: Zip | StreamZip) -> Any:
    return tuple(element_spec(component) for component in node.components)


def _transformed(node: Any) -> Any:
    transform = getattr(node.function, "__self__", node.function)
    if not hasattr(transform, "output_spec"):
        raise ValueError(
            f"cannot tell what `{node.describe()}` gives: its transformation has no `output_spec(self, input_spec)` method"
        )
    return transform.output_spec(element_spec(node.parent))


for _own in (Map, MapWithIndex, RandomMap, FlatMap, StreamMap, StreamMapWithIndex, StreamRandomMap, StreamFlatMap):
    element_spec.register(_own, _transformed)


@element_spec.register(Batch)
@element_spec.register(StreamBatch)
def _(node: Batch | StreamBatch) -> Any:
    if node.batch_fn is not None:
        raise NotImplementedError(f"what the batch_fn of `{node.describe()}` gives is not known without calling it")
    rows = node.batch_size if node.drop_remainder else None
    return _map_spec(lambda leaf: ShapeDtypeStruct((rows, *leaf.shape), leaf.dtype), element_spec(node.parent))


@element_spec.register
def _(node: StreamRebatch) -> Any:
    spec = element_spec(node.parent)
    return _map_spec(lambda leaf: ShapeDtypeStruct((node.batch_size, *leaf.shape[1:]), leaf.dtype), spec)


@element_spec.register(StreamPack)
@element_spec.register(StreamConcatThenSplit)
def _(node: StreamPack | StreamConcatThenSplit) -> Any:
    if getattr(node, "extras", ()):
        raise NotImplementedError(f"how many values `{node.describe()}` collects of its meta features is not known")
    out: dict[str, Any] = {}
    above = element_spec(node.parent)
    for feature in node.features:
        _put_packed(out, feature, above)
    return out


def _put_packed(out: dict[str, Any], feature: Feature, spec: Any) -> None:
    for key in feature.path:
        spec = spec[key]
    put(out, feature.path, ShapeDtypeStruct((feature.length, *spec.shape[1:]), spec.dtype))
    if not feature.meta:
        for mark in ("segment_ids", "positions"):
            out[f"{feature.path[0]}_{mark}"] = ShapeDtypeStruct((feature.length,), np.int32)
