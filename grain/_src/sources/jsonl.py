"""JSON lines: one JSON value a line, with random access through an index of where lines begin."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from grain._src.errors import SourceError
from grain._src.sources import files, index_cache
from grain._src.sources.base import DataSource, IndexArray
from grain._src.sources.bounded_cache import BoundedCache
from grain._src.sources.shards import Shards

_SCAN_BYTES = 1 << 24
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLANKS = b" \t\r\n"
_DECODER = json.JSONDecoder()


class JsonLinesDataSource(DataSource[Any]):
    """The values of files with one JSON value a line; empty lines are skipped.

    The first use of a file scans it for its line ends. The result is kept and used again as long as the file has the
    same size and time.

    Args:
      paths: a path, a pattern ("train-*.jsonl") or a sequence of these.
      cache_dir: where the index is kept; the user's cache directory by default.
    """

    def __init__(self, paths: files.Paths, *, cache_dir: files.PathLike | None = None) -> None:
        self._paths = files.expand(paths)
        self._cache_dir = cache_dir
        self._open = BoundedCache(files.map_file, files.open_limit())
        self._index: tuple[Shards, list[IndexArray]] | None = None
        self._lock = threading.Lock()

    @property
    def paths(self) -> list[str]:
        """The names of the files."""
        return list(self._paths)

    def __len__(self) -> int:
        return self._layout()[0].total

    def __repr__(self) -> str:
        return f"JsonLinesDataSource(paths={files.describe(self._paths)})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def _layout(self) -> tuple[Shards, list[IndexArray]]:
        """Returns the shards and, for each, a row (begin, end) for every line that is not empty."""
        if self._index is None:
            with self._lock:
                if self._index is None:
                    lines = [
                        index_cache.load_or_build(path, "jsonl", scan, self._cache_dir).reshape(-1, 2)
                        for path in self._paths
                    ]
                    self._index = Shards([len(bounds) for bounds in lines]), lines
        return self._index

    def _read_one(self, key: int) -> Any:
        shard, offset = self._layout()[0].locate(key)
        return self._read_shard(shard, np.array([offset]))[0]

    def _read(self, keys: IndexArray) -> list[Any]:
        return self._layout()[0].read(keys, self._read_shard)

    def _read_shard(self, shard: int, offsets: IndexArray) -> list[Any]:
        path = self._paths[shard]
        bounds = self._layout()[1][shard][offsets]
        data = self._open.get(path)
        try:
            return _parse_lines(_cut_lines(data, bounds))
        except (ValueError, RecursionError):
            return [_parse(path, data[begin:end], begin) for begin, end in bounds.tolist()]

    def __iter__(self) -> Iterator[Any]:
        for begin in range(0, len(self), 64):
            keys = np.arange(begin, min(begin + 64, len(self)), dtype=np.int64)
            try:
                values: Any = self._read(keys)
            except SourceError:
                # One is damaged: read them one by one, so that those before it are handed out first.
                values = map(self._read_one, keys.tolist())
            yield from values


def _cut_lines(data: files.FileBytes, bounds: IndexArray) -> list[str]:
    begins, ends = bounds[:, 0], bounds[:, 1]
    if len(bounds) > 1 and (begins[1:] == ends[:-1] + 1).all():
        # Neighbours: one copy and one decoding for all of them.
        return str(data[int(begins[0]) : int(ends[-1])], "utf-8").split("\n")
    return [str(data[begin:end], "utf-8") for begin, end in bounds.tolist()]


def _parse_lines(lines: list[str]) -> list[Any]:
    decode = _DECODER.raw_decode
    values = []
    for line in lines:
        value, end = decode(line)
        if end != len(line):
            value = json.loads(line)  # Blanks after the value are fine, anything else is an error.
        values.append(value)
    return values


def _parse(path: str, line: bytes, begin: int) -> Any:
    try:
        return json.loads(str(line, "utf-8"))
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path!r} is not sound JSON lines: the line at byte {begin}: {error}") from error


def scan(path: str, data: files.FileBytes) -> IndexArray:
    """Returns begin and end of every line that is not empty, one after the other in one flat array."""
    size = len(data)
    if data[:2] == b"\x1f\x8b":
        raise SourceError(f"{path!r} is compressed, not JSON lines: decompress it first")
    ends = _line_ends(data)
    if size and (not len(ends) or ends[-1] != size - 1):
        ends = np.append(ends, size)
    begins = np.empty_like(ends)
    if len(ends):
        begins[0] = len(_BYTE_ORDER_MARK) if data[:3] == _BYTE_ORDER_MARK else 0
        begins[1:] = ends[:-1] + 1
    filled = np.flatnonzero(ends > begins)
    begins, ends = begins[filled], ends[filled]
    # Lines that begin with a blank may hold nothing else; in a file of any size there are few of them.
    first = np.frombuffer(data, np.uint8)[begins] if len(begins) else np.empty(0, np.uint8)
    suspects = np.flatnonzero(np.isin(first, np.frombuffer(_BLANKS, np.uint8)))
    empty = [line for line in suspects.tolist() if not data[int(begins[line]) : int(ends[line])].strip(_BLANKS)]
    if empty:
        begins, ends = np.delete(begins, empty), np.delete(ends, empty)
    return np.stack([begins, ends], axis=1).ravel().astype(np.int64)


def _line_ends(data: files.FileBytes) -> npt.NDArray[np.int64]:
    whole = np.frombuffer(data, np.uint8)
    found = [np.flatnonzero(whole[at : at + _SCAN_BYTES] == ord("\n")) + at for at in range(0, len(whole), _SCAN_BYTES)]
    return np.concatenate(found).astype(np.int64) if found else np.empty(0, np.int64)
