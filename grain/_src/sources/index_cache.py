"""Indexes of files that have none of their own, built by one scan and kept on disk for the next run."""

import contextlib
import hashlib
import os
import zlib
from collections.abc import Callable

import numpy as np

from grain._src.sources import files
from grain._src.sources.base import IndexArray

# Below this a scan is faster than to look for its result.
_WORTH_KEEPING_BYTES = 1 << 20
_FORMAT = 1
_HEADER_FIELDS = 5


def default_directory() -> str:
    """Returns where indexes are kept unless a source is told otherwise."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "grain", "indexes")


def load_or_build(
    path: str, kind: str, build: Callable[[str, files.FileBytes], IndexArray], directory: files.PathLike | None = None
) -> IndexArray:
    """Returns the index of `path`: the kept one if the file has the same size and time as then, else a new one."""
    before = files.stamp(path)
    if before.size < _WORTH_KEEPING_BYTES:
        return build(path, files.map_file(path))
    folder = default_directory() if directory is None else os.fspath(directory)
    identity = hashlib.sha256(f"{kind}:{os.path.realpath(path)}".encode()).hexdigest()[:32]
    kept = os.path.join(folder, f"{identity}.npy")
    index = _load(kept, before)
    if index is None:
        index = build(path, files.map_file(path))
        if files.stamp(path) == before:
            # A cache that cannot be written (a read-only home) costs time in the next run, nothing else.
            with contextlib.suppress(OSError):
                _keep(kept, before, index)
    return index


def _load(kept: str, stamp: files.Stamp) -> IndexArray | None:
    try:
        stored = np.load(kept, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    if stored.dtype != np.int64 or stored.ndim != 1 or len(stored) < _HEADER_FIELDS:
        return None
    header = stored[:_HEADER_FIELDS].tolist()
    body: IndexArray = stored[_HEADER_FIELDS:]
    if header != _header(stamp, body):
        return None
    return body


def _keep(kept: str, stamp: files.Stamp, index: IndexArray) -> None:
    os.makedirs(os.path.dirname(kept), exist_ok=True)
    header = np.array(_header(stamp, index), np.int64)
    with files.replace_together([kept]) as (temporary,), open(temporary, "xb") as file:
        np.save(file, np.concatenate([header, index]))


def _header(stamp: files.Stamp, body: IndexArray) -> list[int]:
    return [_FORMAT, stamp.size, stamp.mtime_ns, len(body), zlib.crc32(body.tobytes())]
