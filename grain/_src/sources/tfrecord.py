"""TFRecord files: framed bytes with checksums, read at random through an index or from front to back."""

import struct
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from grain._src.arguments import flag
from grain._src.errors import SourceError
from grain._src.sources import files, index_cache
from grain._src.sources.base import DataSource, IndexArray, checked_records
from grain._src.sources.bounded_cache import BoundedCache
from grain._src.sources.crc32c import checksum_function, mask, mask_all
from grain._src.sources.shards import Shards

_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")
FRAME = _HEADER.size + _FOOTER.size
_BLOCK_BYTES = 1 << 18
_KNOWN_LENGTHS = 4096
_MANY = 16  # from so many checksums on arrays are quicker


class TFRecordReader:
    """One TFRecord file; a position is the byte offset at which a record begins."""

    def __init__(self, path: str, *, verify: bool = True) -> None:
        self.path = path
        self._verify = verify
        self._data = files.map_file(path)

    def read_from(self, position: int) -> Iterator[bytes]:
        """Yields the records from `position` to the end; each takes FRAME bytes more in the file than it has."""
        data, size = self._data, len(self._data)
        if not 0 <= position <= size:
            raise SourceError(f"position {position} is outside {self.path!r}, which has {size} bytes")
        known: dict[int, int] = {}
        damage: SourceError | None = None
        while position < size and damage is None:
            bounds = [position]
            stop = min(position + _BLOCK_BYTES, size)
            try:
                walk(self.path, data, bounds, stop, known)
            except SourceError as error:
                damage = error
            position = bounds[-1]
            yield from self._read_in_turn(bounds)
        if damage is not None:
            raise damage

    def _read_in_turn(self, bounds: list[int]) -> Iterable[bytes]:
        begins, ends = bounds[:-1], bounds[1:]
        try:
            return self.read_between(begins, ends)
        except SourceError:
            # One is damaged: read them one by one, so that those before it are handed out first.
            return (self.read_between([begin], [end])[0] for begin, end in zip(begins, ends, strict=True))

    def read_between(self, begins: list[int], ends: list[int]) -> list[bytes]:
        """Returns the records whose frames lie between `begins` and `ends`."""
        data = self._data
        records = [data[begin + 12 : end - 4] for begin, end in zip(begins, ends, strict=True)]
        if self._verify:
            wrong = _first_wrong(records, [data[end - 4 : end] for end in ends])
            if wrong is not None:
                raise _damaged(self.path, begins[wrong], "the checksum of the record does not match")
        return records


def _first_wrong(records: list[bytes], stored: list[bytes]) -> int | None:
    """Returns the number of the first record whose checksum is not the stored one."""
    checksums = map(checksum_function(), records)
    if len(records) < _MANY:
        expected = [mask(checksum).to_bytes(4, "little") for checksum in checksums]
        return next((i for i, (one, other) in enumerate(zip(expected, stored, strict=True)) if one != other), None)
    masked = mask_all(np.fromiter(checksums, np.uint32, len(records)))
    wrong = np.flatnonzero(masked != np.frombuffer(b"".join(stored), "<u4"))
    return int(wrong[0]) if len(wrong) else None


def walk(path: str, data: files.FileBytes, bounds: list[int], stop: int, known: dict[int, int]) -> None:
    """Appends where each record ends, from the last of `bounds` on, until one ends at `stop` or after it."""
    position, header = bounds[-1], _HEADER.unpack_from
    last = len(data) - FRAME  # where a record without a byte could begin
    while position < stop:
        if position <= last:
            length, stored = header(data, position)
            if known.get(length) == stored and position + length <= last:
                position += FRAME + length
                bounds.append(position)
                continue
        position += FRAME + record_length(path, data, position, known)
        bounds.append(position)


def record_length(path: str, data: files.FileBytes, position: int, known: dict[int, int]) -> int:
    """Returns the length of the record at `position`, checked; `known` remembers the checksums of lengths seen."""
    size = len(data)
    if position + FRAME > size:
        raise _damaged(path, position, f"the file ends {size - position} bytes into a record")
    length: int
    length, stored = _HEADER.unpack_from(data, position)
    if known.get(length) != stored:
        if mask(checksum_function()(data[position : position + 8])) != stored:
            hint = "; it looks compressed: decompress it first" if data[:2] == b"\x1f\x8b" else ""
            raise _damaged(path, position, f"the checksum of the record's length does not match{hint}")
        if len(known) < _KNOWN_LENGTHS:
            known[length] = stored
    if position + FRAME + length > size:
        raise _damaged(path, position, f"the file ends within a record of {length} bytes")
    return length


def _damaged(path: str, position: int, what: str) -> SourceError:
    return SourceError(f"{path!r} is not a sound TFRecord file: at byte {position}, {what}")


def scan(path: str, data: files.FileBytes) -> IndexArray:
    """Returns where each record begins, and where the last one ends."""
    positions = [0]
    walk(path, data, positions, len(data), {})
    return np.array(positions, np.int64)


class TFRecordDataSource(DataSource[bytes]):
    """The records of TFRecord files, as bytes, with random access; `decode_example` turns them into arrays.

    The first use of a file scans it for where its records begin. The result is kept and used again as long as the file
    has the same size and time.

    Args:
      paths: a path, a pattern ("train-*.tfrecord") or a sequence of these.
      verify: whether the checksum of each record is compared.
      cache_dir: where the index is kept; the user's cache directory by default.
    """

    def __init__(self, paths: files.Paths, *, verify: bool = True, cache_dir: files.PathLike | None = None) -> None:
        self._paths = files.expand(paths)
        self._verify = flag("verify", verify)
        self._cache_dir = cache_dir
        self._open = BoundedCache(self._open_file, files.open_limit())
        self._index: tuple[Shards, list[IndexArray]] | None = None
        self._lock = threading.Lock()

    @property
    def paths(self) -> list[str]:
        """The names of the files."""
        return list(self._paths)

    def __len__(self) -> int:
        return self._layout()[0].total

    def __repr__(self) -> str:
        return f"TFRecordDataSource(paths={files.describe(self._paths)})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def _open_file(self, shard: int) -> TFRecordReader:
        return TFRecordReader(self._paths[shard], verify=self._verify)

    def _layout(self) -> tuple[Shards, list[IndexArray]]:
        if self._index is None:
            with self._lock:
                if self._index is None:
                    positions = [
                        index_cache.load_or_build(path, "tfrecord", scan, self._cache_dir) for path in self._paths
                    ]
                    self._index = Shards([len(found) - 1 for found in positions]), positions
        return self._index

    def _read_one(self, key: int) -> bytes:
        shards, positions = self._layout()
        shard, offset = shards.locate(key)
        begin, end = positions[shard][offset : offset + 2].tolist()
        return self._open.get(shard).read_between([begin], [end])[0]

    def _read(self, keys: IndexArray) -> list[bytes]:
        return self._layout()[0].read(keys, self._read_shard)

    def _read_shard(self, shard: int, offsets: IndexArray) -> list[bytes]:
        positions = self._layout()[1][shard]
        return self._open.get(shard).read_between(positions[offsets].tolist(), positions[offsets + 1].tolist())

    def __iter__(self) -> Iterator[bytes]:
        for shard in range(len(self._paths)):
            yield from self._open.get(shard).read_from(0)


def write_tfrecord(path: files.PathLike, records: Iterable[bytes]) -> str:
    """Writes `records` as one TFRecord file, which takes its name when it is complete, and returns the name."""
    name = files.local(path)
    checksum = checksum_function()
    with files.replace_together([name]) as (temporary,), open(temporary, "xb") as file:
        for record in checked_records(records):
            length = struct.pack("<Q", len(record))
            file.write(length + _FOOTER.pack(mask(checksum(length))))
            file.write(record)
            file.write(_FOOTER.pack(mask(checksum(record))))
    return name
