"""A bounded, thread-safe cache of what is dear to open or decode: file handles, row groups."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_STRIPES = 16


def _one(value: Any) -> int:
    return 1


class BoundedCache(Generic[K, V]):
    """The least recently used values leave when the weights together exceed `limit`; the newest always stays.

    A pickled copy is empty: each process opens and decodes for itself.
    """

    def __init__(self, load: Callable[[K], V], limit: int, weigh: Callable[[V], int] = _one) -> None:
        self._load = load
        self._limit = limit
        self._weigh = weigh
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._weight = 0
        self._lock = threading.Lock()
        # Two threads that want one value load it once; those that want different values rarely wait for each other.
        self._loading = [threading.Lock() for _ in range(_STRIPES)]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._load, self._limit, self._weigh)

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V:
        """Returns the value of `key`, loaded now if it is not there."""
        if (found := self._find(key)) is not None:
            return found[0]
        with self._loading[hash(key) % _STRIPES]:
            if (found := self._find(key)) is not None:
                return found[0]
            value = self._load(key)
            self._store(key, value)
        return value

    def _find(self, key: K) -> tuple[V, int] | None:
        with self._lock:
            entry = self._values.get(key)
            if entry is not None:
                self._values.move_to_end(key)
            return entry

    def _store(self, key: K, value: V) -> None:
        weight = self._weigh(value)
        with self._lock:
            self._values[key] = (value, weight)
            self._weight += weight
            while self._weight > self._limit and len(self._values) > 1:
                # Dropped, not closed: another thread may be reading it. It closes with its last reference.
                self._weight -= self._values.popitem(last=False)[1][1]
