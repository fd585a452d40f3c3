"""The process executor: a pool of stateless workers, and the iterators that feed and read it.

Its modules are loaded when the first pipeline is to run in workers; what encodes and decodes, while the first worker starts.
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
    from grain._src.transport.codec import decode, decode_packed
    from grain._src.transport.failure import decode_error, encode_error

in_worker = False  # whether this process is a worker, which starts no workers of its own

_HOMES = {
    "Pool": "engine.processes.pool",
    "PooledIterator": "engine.processes.pooled",
    "RemoteIterator": "engine.processes.remote",
    "SpreadIterator": "engine.processes.spread",
    "StageIterator": "engine.processes.stage",
    "decode": "transport.codec",
    "decode_error": "transport.failure",
    "decode_packed": "transport.codec",
    "dump_init": "engine.processes.parcels",
    "dump_work": "engine.processes.parcels",
    "encode_error": "transport.failure",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"grain._src.{_HOMES[name]}"), name)
    return value


def load_first() -> None:
    """Loads what starts workers."""
    _load("Pool", "PooledIterator")


def load_rest() -> None:
    """Loads what is needed when the first worker answers, which is starting meanwhile."""
    _load("dump_work", "decode")


def _load(*names: str) -> None:
    for name in names:
        if name not in globals():
            __getattr__(name)


__all__ = [
    "Pool",
    "PooledIterator",
    "RemoteIterator",
    "SpreadIterator",
    "StageIterator",
    "decode",
    "decode_error",
    "decode_packed",
    "dump_init",
    "dump_work",
    "encode_error",
    "load_first",
    "load_rest",
]
