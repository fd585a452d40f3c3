"""Which features of an element are packed, how long a packed row of each is, and how an element is taken apart."""

import dataclasses
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from operator import attrgetter, is_
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grain._src import arguments
from grain._src.columns import Part

Array = npt.NDArray[Any]

_dtype_of = attrgetter("dtype")


@dataclasses.dataclass(frozen=True)
class Feature:
    """A feature that is packed along its first axis.

    Args:
      path: the keys that lead to it in an element.
      length: of a packed row.
      alignment: every sequence begins at a multiple of it.
      padding: the value between and after the sequences; None is the zero of their dtype.
      meta: whether it gets no segment ids and no positions.
    """

    path: tuple[str, ...]
    length: int
    alignment: int = 1
    padding: Any = None
    meta: bool = False

    @property
    def title(self) -> str:
        """The feature's name in messages."""
        return repr(self.path[0]) if len(self.path) == 1 else repr(list(self.path))

    def of(self, element: Any) -> Array:
        """Returns the feature's sequence; a scalar is a sequence of one."""
        value = element
        for key in self.path:
            if not isinstance(value, Mapping):
                raise TypeError(f"packing needs elements that are dicts of features, got {value!r:.100}")
            if key not in value:
                raise KeyError(
                    f"the element has no feature {self.title}, which length_struct names: it has {list(value)}"
                )
            value = value[key]
        if isinstance(value, Mapping):
            raise ValueError(f"feature {self.title} is a {type(value).__name__}, but length_struct has a length for it")
        return value if type(value) is np.ndarray and value.ndim else np.atleast_1d(value)


def features_of(
    length_struct: Any, meta_features: Sequence[str] = (), alignment: Any = None, padding: Any = None
) -> tuple[Feature, ...]:
    """Returns the features that `length_struct` names, in order of their names."""
    if not isinstance(length_struct, Mapping) or not length_struct:
        raise ValueError(f"length_struct must be a dict with the length of each feature, got {length_struct!r}")
    lengths = dict(_paths(length_struct))
    alignments = _like("pack_alignment_struct", alignment, lengths, 1)
    paddings = _like("padding_struct", padding, lengths, None)
    features = []
    for path, length in sorted(lengths.items()):
        name = "".join(f"[{key!r}]" for key in path)
        meta = path[0] in meta_features
        if len(path) > 1 and not meta:
            raise ValueError(
                f"length_struct[{path[0]!r}] is nested, which only meta features may be: add it to meta_features"
            )
        features.append(
            Feature(
                path,
                arguments.positive(f"length_struct{name}", length),
                arguments.positive(f"pack_alignment_struct{name}", alignments[path]),
                paddings[path],
                meta,
            )
        )
    return tuple(features)


def _paths(struct: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields each leaf of a nested dict with the keys that lead to it."""
    if not isinstance(struct, Mapping):
        yield path, struct
        return
    for key, value in struct.items():
        yield from _paths(value, (*path, key))


def _like(name: str, struct: Any, lengths: Mapping[tuple[str, ...], Any], default: Any) -> dict[tuple[str, ...], Any]:
    """Returns a value for each feature: from a struct with the same keys, or one for all."""
    if not isinstance(struct, Mapping):
        return dict.fromkeys(lengths, default if struct is None else struct)
    values = dict(_paths(struct))
    if values.keys() != lengths.keys():
        raise ValueError(f"{name} must have the keys of length_struct, {list(lengths)}, got {list(values)}")
    return values


class Document:
    """An element taken apart: a sequence for each feature, its length, and the values of the unpacked meta features."""

    __slots__ = ("arrays", "extras", "lengths")

    def __init__(self, arrays: Sequence[Array], lengths: Sequence[int], extras: Sequence[Any]) -> None:
        self.arrays = arrays
        self.lengths = lengths
        self.extras = extras


class Vectors(NamedTuple):
    """Elements taken apart: the vectors of each feature, their lengths, and the dtype that all of them have, if they do."""

    arrays: list[list[Any]]  # or what is in their memory
    lengths: list[list[int]]
    dtypes: list[Any]


def dtype_of_all(arrays: Sequence[Array]) -> Any:
    """Returns the dtype of arrays; None if they have several, or may have."""
    dtype = arrays[0].dtype
    return dtype if all(map(is_, map(_dtype_of, arrays), repeat(dtype))) else None


def all_have_one(elements: Sequence[Any]) -> bool:
    """Whether elements that are dicts have one feature each."""
    if isinstance(elements, Part):
        return elements.keys is not None and len(elements.keys) == 1
    return set(map(len, elements)) == {1}


def _vectors(elements: Sequence[Any], name: str, copy: bool) -> list[Array] | None:
    """Returns what dicts have under a name if that is vectors, with memory of their own if they came by columns."""
    if isinstance(elements, Part):
        return elements.vectors(name, copy)
    if set(map(type, elements)) != {dict}:
        return None
    arrays = [element.get(name) for element in elements]
    if set(map(type, arrays)) != {np.ndarray} or [array.ndim for array in arrays].count(1) < len(arrays):
        return None
    return arrays


class DocumentReader:
    """Takes elements apart.

    Args:
      features: what is packed.
      extras: meta features that are not packed but listed.
      split: whether sequences may be longer than a row, those of meta features excepted.
    """

    def __init__(self, features: Sequence[Feature], extras: Sequence[str] = (), split: bool = False) -> None:
        self._features = features
        self._extras = extras
        flat = all(len(feature.path) == 1 for feature in features)
        self._names = [feature.path[0] for feature in features] if flat else []
        self._limits = [sys.maxsize if split and not feature.meta else feature.length for feature in features]
        self._only = self._names[0] if len(self._names) == 1 and not extras else None

    def read(self, element: Any) -> Document:
        """Returns the document in `element`."""
        if self._only is not None and type(element) is dict:
            array = element.get(self._only)
            if type(array) is np.ndarray and array.ndim:
                return Document([array], [len(array)], [])
        try:
            arrays = [element[name] for name in self._names]
        except (KeyError, TypeError, IndexError):
            arrays = []
        for array in arrays or (None,):
            if type(array) is not np.ndarray or not array.ndim:  # nested, a scalar, a list, or missing
                arrays = [feature.of(element) for feature in self._features]
                break
        extras = [self._extra(element, name) for name in self._extras] if self._extras else []
        return Document(arrays, list(map(len, arrays)), extras)

    @staticmethod
    def _extra(element: Any, name: str) -> Any:
        if name not in element:
            raise KeyError(f"the element has no meta feature {name!r}: it has {list(element)}")
        return element[name]

    def read_vectors(self, elements: Sequence[Any], brief: bool, raw: bool = False) -> Vectors | None:
        """Returns what is packed of elements if that is vectors, short enough for a row; None if one is not.

        Args:
          elements: to be taken apart.
          brief: whether the vectors are soon let go, so that they may be parts of arrays with many others.
          raw: whether their memory will do instead of arrays.
        """
        if self._extras or not self._names:
            return None
        vectors = Vectors([], [], [])
        for name, limit in zip(self._names, self._limits, strict=True):
            dtype: Any = None
            own: list[Any] | None = None
            if raw and brief and isinstance(elements, Part):
                dtype, own = elements.buffers(name) or (None, None)
            if own is None:
                own = _vectors(elements, name, not brief)
                if own is None:
                    return None
                dtype = dtype_of_all(own)
            lengths = list(map(len, own))
            if max(lengths) > limit:
                return None
            for column, value in zip(vectors, (own, lengths, dtype), strict=True):
                column.append(value)
        return vectors

    def read_short(self, element: Any) -> Document:
        """Returns the document in `element`, which must fit into an empty row."""
        document = self.read(element)
        for length, limit in zip(document.lengths, self._limits, strict=True):
            if length > limit:
                too_long = [
                    f"{feature.title} has {have}, at most {feature.length} fit"
                    for feature, have in zip(self._features, document.lengths, strict=True)
                    if have > feature.length
                ]
                raise ValueError(
                    f"an element is longer than a packed row: {'; '.join(too_long)}. Truncate or split it before packing."
                )
        return document
