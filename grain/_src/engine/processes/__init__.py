"""The process executor: a pool of stateless workers, and the iterators that feed and read it.

Its modules are loaded when the first `mp_prefetch` runs, those that pickle while its first worker starts.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grain._src.engine.processes.parcels import dump_init, dump_work
    from grain._src.engine.processes.pool import Pool
    from grain._src.engine.processes.pooled import PooledIterator
    from grain._src.engine.processes.remote import RemoteIterator
    from grain._src.engine.processes.spread import SpreadIterator
    from grain._src.engine.processes.stage import StageIterator

in_worker = False  # whether this process is a worker, which starts no workers of its own

_HOMES = {
    "Pool": "pool",
    "PooledIterator": "pooled",
    "RemoteIterator": "remote",
    "SpreadIterator": "spread",
    "StageIterator": "stage",
    "dump_init": "parcels",
    "dump_work": "parcels",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value


__all__ = ["Pool", "PooledIterator", "RemoteIterator", "SpreadIterator", "StageIterator", "dump_init", "dump_work"]
