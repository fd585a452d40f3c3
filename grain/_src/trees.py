"""Elements as trees: containers within containers, with arrays, numbers, strings and objects as leaves.

Containers are dicts, lists, tuples, named tuples, dataclasses, attrs classes and, once JAX is loaded by somebody else,
the classes registered with it. None is a container without children, as in JAX. The first element gives the structure.
"""

import copy
import dataclasses
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

Allocate: TypeAlias = Callable[[tuple[int, ...], Any], "np.ndarray[Any, Any]"]

_JOINABLE = "biufc"  # the kinds of dtypes whose arrays are nothing but their bytes
_JOINED_BYTES = 1 << 22  # from here on NumPy gets its memory in huge pages
_FEW_CHANNELS = 4  # of an image, which are the last axis
_LEAVES = frozenset({int, float, bool, str, bytes, complex, np.ndarray})


class Shape:
    """How to take a container apart and put one of the same kind together."""

    __slots__ = ("build", "children", "names")

    def __init__(self, names: tuple[Any, ...], children: tuple[Any, ...], build: Callable[[list[Any]], Any]) -> None:
        self.names = names
        self.children = children
        self.build = build


def open_container(tree: Any) -> Shape | None:
    """Returns the parts of a container; None for a leaf."""
    kind = type(tree)
    if kind in _LEAVES:
        return None
    if tree is None:
        return Shape((), (), lambda _: None)
    if kind is dict:
        names = tuple(tree)
        return Shape(names, tuple(tree.values()), lambda parts: dict(zip(names, parts, strict=True)))
    if kind is tuple or kind is list:
        return Shape(tuple(range(len(tree))), tuple(tree), kind)
    if isinstance(tree, dict):
        names = tuple(tree)
        return Shape(names, tuple(tree.values()), lambda parts: _rebuild_dict(tree, names, parts))
    if isinstance(tree, tuple) and hasattr(kind, "_fields"):
        return Shape(tuple(kind._fields), tuple(tree), lambda parts: kind(*parts))
    registered = _open_registered(tree)
    if registered is not None:
        return registered
    if isinstance(tree, list | tuple):
        return Shape(tuple(range(len(tree))), tuple(tree), lambda parts: kind(parts))
    if hasattr(kind, "__dataclass_fields__"):
        names = tuple(f.name for f in dataclasses.fields(tree) if f.init)
        return _open_fields(tree, names, lambda parts: dataclasses.replace(tree, **parts))
    if hasattr(kind, "__attrs_attrs__"):
        init = {a.name: a.alias or a.name.lstrip("_") for a in kind.__attrs_attrs__ if a.init}
        return _open_fields(tree, tuple(init), lambda parts: kind(**{init[n]: v for n, v in parts.items()}))
    return None


def _rebuild_dict(like: Any, names: tuple[Any, ...], parts: list[Any]) -> Any:
    made = copy.copy(like)  # keeps the kind of dict and what else it carries, such as a default factory
    for name, part in zip(names, parts, strict=True):
        made[name] = part
    return made


def _open_fields(tree: Any, names: tuple[str, ...], build: Callable[[dict[str, Any]], Any]) -> Shape:
    children = tuple(getattr(tree, name) for name in names)
    return Shape(names, children, lambda parts: build(dict(zip(names, parts, strict=True))))


def _open_registered(tree: Any) -> Shape | None:
    """A class registered with JAX counts as a container, but JAX is never imported for it."""
    jax = sys.modules.get("jax")
    if jax is None or not hasattr(jax, "tree_util"):
        return None
    leaves, structure = jax.tree_util.tree_flatten(tree, is_leaf=lambda x: x is not tree)
    if len(leaves) == 1 and leaves[0] is tree:
        return None
    return Shape(tuple(range(len(leaves))), tuple(leaves), structure.unflatten)


def map_leaves(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Returns `tree` with each leaf replaced by `function` of it and of its counterparts in `others`."""
    shape = open_container(tree)
    if shape is None:
        return function(tree, *others)
    rows = [_matching(shape, tree, other, i + 1, "") for i, other in enumerate(others)]
    return shape.build([map_leaves(function, child, *rest) for child, *rest in zip(shape.children, *rows, strict=True)])


def leaves(tree: Any) -> list[Any]:
    """Returns the leaves from left to right."""
    shape = open_container(tree)
    if shape is None:
        return [tree]
    return [leaf for child in shape.children for leaf in leaves(child)]


def nbytes(tree: Any) -> int:
    """Returns about how much memory an element takes."""
    shape = open_container(tree)
    if shape is not None:
        return 64 + sum(map(nbytes, shape.children))
    size = getattr(tree, "nbytes", None)
    if isinstance(size, int):
        return size + 112
    return sys.getsizeof(tree, 64)


def _matching(shape: Shape, first: Any, other: Any, position: int, path: str) -> tuple[Any, ...]:
    """Returns the parts of `other` in the order of `shape`, or says how its structure differs."""
    if type(other) is dict and type(first) is dict:
        if len(other) == len(shape.names):
            try:
                return tuple([other[name] for name in shape.names])
            except KeyError:
                pass
    else:
        found = open_container(other)
        if found is not None and type(other) is type(first) and found.names == shape.names:
            return found.children
    raise ValueError(
        f"Expected all input elements to have the same structure, but at {_place(path)} element 0 has "
        f"{_describe(first)} and element {position} has {_describe(other)}. Make the elements alike before `batch`, or "
        "pass a `batch_fn` that combines them."
    )


def _describe(tree: Any) -> str:
    if isinstance(tree, dict):
        return f"a {type(tree).__name__} with keys {sorted(map(str, tree))}"
    if isinstance(tree, list | tuple):
        return f"a {type(tree).__name__} of {len(tree)}"
    if isinstance(tree, np.ndarray):
        return f"an array {tree.dtype}{list(tree.shape)}"
    return f"a {type(tree).__name__}"


def _place(path: str) -> str:
    return f"`element{path}`" if path else "the root"


def stack(elements: Sequence[Any], allocate: Allocate | None = None, path: str = "") -> Any:
    """Returns one element whose leaves are those of `elements`, stacked along a new first axis.

    >>> stack([{"x": 1, "y": "a"}, {"x": 2, "y": "bc"}])
    {'x': array([1, 2]), 'y': array(['a', 'bc'], dtype='<U2')}

    Args:
      elements: at least one.
      allocate: makes the array for a stacked leaf; np.empty by default.
      path: where in the element we are, for messages.
    """
    first = elements[0]
    kind = type(first)
    if kind is dict:
        names, count = tuple(first), len(first)
        try:
            if set(map(type, elements)) == {dict} and set(map(len, elements)) == {count}:
                return {name: stack([e[name] for e in elements], allocate, f"{path}[{name!r}]") for name in names}
        except KeyError:
            pass
    elif kind in _LEAVES:
        return stack_leaf(elements, allocate, path)
    shape = open_container(first)
    if shape is None:
        return stack_leaf(elements, allocate, path)
    rows: Sequence[Any] = elements  # lists and tuples are their own parts
    items = kind is tuple or kind is list or (isinstance(first, tuple) and hasattr(kind, "_fields"))
    if not items or set(map(type, elements)) != {kind} or set(map(len, elements)) != {len(first)}:
        others = [_matching(shape, first, other, i + 1, path) for i, other in enumerate(elements[1:])]
        rows = [shape.children, *others]
    return shape.build(
        [
            stack(column, allocate, f"{path}[{name!r}]")
            for name, column in zip(shape.names, zip(*rows, strict=True), strict=True)
        ]
    )


def stack_leaf(values: Sequence[Any], allocate: Allocate | None, path: str) -> Any:
    """Returns the leaves as one array."""
    first = values[0]
    try:
        if isinstance(first, np.ndarray):
            return _stack_arrays(values, allocate)
        if isinstance(first, str | bytes):
            nul = "\0" if isinstance(first, str) else b"\0"
            if any([type(v) is type(first) and v.endswith(nul) for v in values]):  # type: ignore[arg-type]
                return _object_array(values)  # NumPy's own string types would cut trailing NULs off
            return np.array(values)
        if _is_numeric(first):
            return _array_of(values)
        return np.stack([np.asarray(v) for v in values])
    except ValueError as error:
        raise ValueError(_ragged_message(values, path)) from error


def _stack_arrays(values: Sequence[Any], allocate: Allocate | None) -> "np.ndarray[Any, Any]":
    dtype, shape = values[0].dtype, values[0].shape
    if dtype.hasobject or set(map(type, values)) != {np.ndarray}:
        return np.stack(values)
    memory = joined_bytes(values, dtype, len(values) * values[0].size)
    apart = memory is None and _is_image(shape) and any(map(_pixels_apart, values))
    own_memory = memory is not None or apart or allocate is not None
    if not own_memory or not dtype.isnative or not _are_like(values, dtype, shape):
        return _array_of(values)
    if memory is not None and allocate is None:
        return np.frombuffer(memory, dtype).reshape(len(values), *shape)
    out = (allocate or np.empty)((len(values), *shape), dtype)
    if memory is not None:
        out[...] = np.frombuffer(memory, dtype).reshape(out.shape)
    elif apart:
        for row, value in zip(out, values, strict=True):
            copy_into(row, value)
    else:
        out[...] = list(values)  # a tuple would be one record of a structured dtype
    return out


def _are_like(arrays: Sequence[Any], dtype: Any, shape: tuple[int, ...]) -> bool:
    """Whether all have this dtype and shape."""
    count = len(arrays)
    return [array.dtype for array in arrays].count(dtype) == count and [a.shape for a in arrays].count(shape) == count


def _array_of(values: Sequence[Any]) -> "np.ndarray[Any, Any]":
    """Returns the values as one array; a number and a date, which have no dtype in common, are an error."""
    array = np.array(values)
    return np.stack([np.asarray(v) for v in values]) if array.dtype.hasobject else array


def joined_bytes(arrays: Sequence[Any], dtype: Any, size: int) -> bytearray | None:
    """Returns the bytes of small arrays one after the other, for which NumPy takes three times as long.

    Args:
      arrays: None is returned if one of them has gaps, as after a flip; whether all are of `dtype` is for the caller to see.
      dtype: of the arrays.
      size: how many numbers they have.
    """
    if dtype.kind not in _JOINABLE or not dtype.isnative or not 0 < size * dtype.itemsize <= _JOINED_BYTES:
        return None
    try:
        return bytearray().join(arrays)
    except (TypeError, ValueError, BufferError):
        return None


def as_stacked(rows: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """Returns rows in the byte order that stacking them one by one gives: the machine's, but for a single array."""
    if rows.dtype.isnative or (len(rows) == 1 and rows.ndim > 1):
        return rows
    return rows.astype(rows.dtype.newbyteorder("="))


def copy_into(out: "np.ndarray[Any, Any]", array: "np.ndarray[Any, Any]") -> None:
    """Copies an array of the same shape and dtype.

    Where the pixels of an image lie apart, NumPy copies pixel by pixel; channel by channel takes a fifth of that.
    """
    if _pixels_apart(array):
        for channel in range(array.shape[-1]):
            out[..., channel] = array[..., channel]
    else:
        out[...] = array


def _is_image(shape: tuple[int, ...]) -> bool:
    return len(shape) > 1 and 1 < shape[-1] <= _FEW_CHANNELS


def _pixels_apart(array: "np.ndarray[Any, Any]") -> bool:
    """Whether it is an image whose pixels do not follow each other in memory, as after a horizontal flip."""
    return _is_image(array.shape) and bool(array.strides[-2] != array.strides[-1] * array.shape[-1])


def _is_numeric(value: Any) -> bool:
    return isinstance(value, int | float | complex | np.generic)


def _object_array(values: Sequence[Any]) -> "np.ndarray[Any, Any]":
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _ragged_message(values: Sequence[Any], path: str) -> str:
    shapes: dict[Any, int] = {}
    for position, value in enumerate(values):
        shapes.setdefault(np.shape(value) if isinstance(value, np.ndarray) else _describe(value), position)
    listed = ", ".join(f"{shape} (element {position})" for shape, position in list(shapes.items())[:4])
    return (
        f"Expected all input elements to have the same structure and shapes, but the leaves at {_place(path)} have "
        f"{len(shapes)} different shapes: {listed}. Pad them to one shape in a `map` before `batch`, or pass a "
        "`batch_fn`, for instance `functools.partial(grain.experimental.batch_and_pad, batch_size=…)`."
    )


def batch_and_pad(values: Sequence[Any], *, batch_size: int, pad_value: Any = 0) -> Any:
    """Stacks `values` and fills the batch up to `batch_size` with `pad_value`, so that every batch has one shape.

    >>> batch_and_pad([1, 2], batch_size=3)
    array([1, 2, 0])
    """
    if not values:
        raise ValueError("batch_and_pad needs at least one element, got none")
    if len(values) > batch_size:
        raise ValueError(f"batch_size must be at least the number of values ({len(values)}), got {batch_size}")
    stacked = stack(values)
    missing = batch_size - len(values)
    if not missing:
        return stacked

    def pad(leaf: Any, fill: Any) -> Any:
        widths = [(0, missing)] + [(0, 0)] * (leaf.ndim - 1)
        return as_stacked(np.pad(leaf, widths, constant_values=fill))

    if open_container(pad_value) is None or pad_value is None:
        return map_leaves(lambda leaf: pad(leaf, pad_value), stacked)
    return map_leaves(pad, stacked, pad_value)
