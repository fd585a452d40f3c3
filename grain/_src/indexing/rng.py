"""Random generators by position: the same seed and index give the same numbers, whoever asks, in any order."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from grain._src import arguments
from grain._src.indexing.philox import SeekablePhilox, key_of

_OUT_OF_RANGE = (struct.error, OverflowError)


class RngPool:
    """Hands out Philox generators set to a position, and takes them back to use again.

    >>> pool = RngPool(seed=1)
    >>> rng = pool.acquire_rng(5)
    >>> a = rng.integers(100)
    >>> pool.release_rng(rng)
    >>> bool(a == pool.acquire_rng(5).integers(100))
    True
    """

    def __init__(self, seed: int) -> None:
        self._seed = arguments.non_negative("seed", seed)
        self._key = key_of(self._seed)
        self._free: list[SeekablePhilox] = []
        self._lent: dict[int, SeekablePhilox] = {}

    def __getstate__(self) -> int:
        return self._seed

    def __setstate__(self, seed: int) -> None:
        RngPool.__init__(self, seed)

    def _take(self) -> SeekablePhilox:
        try:
            return self._free.pop()
        except IndexError:
            return SeekablePhilox(self._key)

    def acquire_rng(self, index: int, *, op_seed: int = 0) -> np.random.Generator:
        """Returns the generator of `index`; give it back with `release_rng`."""
        philox = self._take()
        try:
            philox.seek(self._key[0], op_seed, index)
        except _OUT_OF_RANGE:
            raise _no_generator(index) from None
        self._lent[id(philox.generator)] = philox
        return philox.generator

    def release_rng(self, rng: np.random.Generator) -> None:
        """Takes a generator back."""
        philox = self._lent.pop(id(rng), None)
        if philox is not None:
            self._free.append(philox)

    def call(self, function: Callable[..., Any], element: Any, index: int) -> Any:
        """Returns function(element, the generator of `index`)."""
        philox = self._take()
        try:
            try:
                philox.seek(self._key[0], 0, index)
            except _OUT_OF_RANGE:
                raise _no_generator(index) from None
            return function(element, philox.generator)
        finally:
            self._free.append(philox)

    def map(self, function: Callable[..., Any], elements: Iterable[Any], indices: Iterable[int]) -> Iterator[Any]:
        """Yields function(element, its generator) for each element that is not a hole; asks for its index after it."""
        philox = self._take()
        seek, rng, key = philox.seek, philox.generator, self._key[0]
        try:
            for element, index in zip(elements, indices, strict=False):
                if element is not None:
                    try:
                        seek(key, 0, index)
                    except _OUT_OF_RANGE:
                        raise _no_generator(index) from None
                    element = function(element, rng)
                yield element
        finally:
            self._free.append(philox)


def _no_generator(index: int) -> IndexError:
    return IndexError(f"random transformations have generators for indices from 0 to 2**64 - 1, got {index}")
