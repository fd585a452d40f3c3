"""Random generators by position: the same seed and index give the same numbers, whoever asks, in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from grain._src import arguments


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
        self._key = np.random.Philox(self._seed).state["state"]["key"]
        self._free: list[tuple[np.random.Generator, Any, dict[str, Any]]] = []
        self._lent: dict[int, tuple[np.random.Generator, Any, dict[str, Any]]] = {}

    def __getstate__(self) -> int:
        return self._seed

    def __setstate__(self, seed: int) -> None:
        RngPool.__init__(self, seed)

    def _take(self) -> tuple[np.random.Generator, Any, dict[str, Any]]:
        try:
            return self._free.pop()
        except IndexError:
            bits = np.random.Philox(self._seed)
            # Setting the state through one dict that is kept costs a seventh of making a generator.
            counter = np.zeros(4, np.uint64)
            state = {
                "bit_generator": "Philox",
                "state": {"counter": counter, "key": self._key},
                "buffer": np.zeros(4, np.uint64),
                "buffer_pos": 4,
                "has_uint32": 0,
                "uinteger": 0,
            }
            return np.random.Generator(bits), bits, state

    @staticmethod
    def _seek(entry: tuple[np.random.Generator, Any, dict[str, Any]], index: int, op_seed: int = 0) -> None:
        _, bits, state = entry
        counter = state["state"]["counter"]
        counter[2] = op_seed
        counter[3] = index
        bits.state = state

    def acquire_rng(self, index: int, *, op_seed: int = 0) -> np.random.Generator:
        """Returns the generator of `index`; give it back with `release_rng`."""
        entry = self._take()
        self._seek(entry, index, op_seed)
        self._lent[id(entry[0])] = entry
        return entry[0]

    def release_rng(self, rng: np.random.Generator) -> None:
        """Takes a generator back."""
        entry = self._lent.pop(id(rng), None)
        if entry is not None:
            self._free.append(entry)

    def call(self, function: Callable[..., Any], element: Any, index: int) -> Any:
        """Returns function(element, the generator of `index`)."""
        entry = self._take()
        try:
            self._seek(entry, index)
            return function(element, entry[0])
        finally:
            self._free.append(entry)

    def map(self, function: Callable[..., Any], elements: Iterable[Any], indices: Iterable[int]) -> Iterator[Any]:
        """Yields function(element, its generator) for each element that is not a hole."""
        entry = self._take()
        rng, bits, state = entry
        counter = state["state"]["counter"]
        counter[2] = 0
        try:
            for index, element in zip(indices, elements, strict=False):
                if element is not None:
                    counter[3] = index
                    bits.state = state
                    element = function(element, rng)
                yield element
        finally:
            self._free.append(entry)
