"""ArrayRecord files: random access to bytes records through the array_record package."""

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from grain._src.errors import SourceError
from grain._src.sources import files
from grain._src.sources.base import DataSource, IndexArray
from grain._src.sources.bounded_cache import BoundedCache
from grain._src.sources.optional import require
from grain._src.sources.shards import Shards

_OPENING_THREADS = 16
# Reading one record at a time costs 3-4 µs, a native list read about 100 µs and then 2-3 µs a record: they meet here.
_LIST_READ_FROM = 512
# Records slower than this wait for storage: a list read releases the interpreter lock and reads them in parallel.
_SLOW_READ_SECONDS = 100e-6
_RANDOM_ACCESS_OPTIONS = {"readahead_buffer_size": "0", "max_parallelism": "0"}


@runtime_checkable
class FileInstruction(Protocol):
    """A part of a file, as TFDS describes it: `take` records after the first `skip`."""

    filename: str
    skip: int
    take: int
    examples_in_shard: int


PathOrInstruction: TypeAlias = files.PathLike | FileInstruction


class _Part(NamedTuple):
    """Which records of which file."""

    path: str
    skip: int = 0
    take: int | None = None  # None: as many as the file has
    whole: bool = True


class _OpenFile:
    """An open reader and what is known of it."""

    def __init__(self, path: str, options: str) -> None:
        module = require("array_record.python.array_record_module", "reading ArrayRecord files")
        self._size = files.stamp(path).size
        self.path = path
        self.reader = module.ArrayRecordReader(path, options)
        if not self.reader.ok():
            raise SourceError(f"{path!r} is not a readable ArrayRecord file: {_reason(self.reader)}")
        self.length = int(self.reader.num_records())
        self.grouped = "group_size:1," not in f"{self.reader.writer_options_string() or 'group_size:1'},"
        self._list_reads = 0
        self._penalty = 1

    def read_one(self, offset: int) -> bytes:
        # A list of one goes through the native thread pool, a range of one does not and is thirty times faster.
        if self._list_reads:
            self._list_reads -= 1
            return self._read_list([offset])[0]
        begun = time.perf_counter()
        record = self._read_range(offset)
        self._note_speed(time.perf_counter() - begun)
        return record

    def read(self, offsets: list[int]) -> list[bytes]:
        count = len(offsets)
        if count >= _LIST_READ_FROM or (self.grouped and max(offsets) - min(offsets) < 4 * count):
            return self._read_list(offsets)
        if self._list_reads:
            self._list_reads -= 1
            return self._read_list(offsets)
        begun = time.perf_counter()
        records = [self._read_range(offset) for offset in offsets]
        self._note_speed((time.perf_counter() - begun) / count)
        return records

    def _note_speed(self, seconds: float) -> None:
        """After a slow read the next ones are list reads, more of them each time it is slow again."""
        if seconds < _SLOW_READ_SECONDS:
            self._penalty = 1
        else:
            self._list_reads = self._penalty = min(2 * self._penalty, 64)

    def _read_range(self, offset: int) -> bytes:
        try:
            record: bytes = self.reader.read(offset, offset + 1)[0]
        except (RuntimeError, IndexError) as error:
            raise SourceError(f"cannot read record {offset} of {self.path!r}: {error}") from error
        if not record:
            self._check_size(offset)
        return record

    def _read_list(self, offsets: list[int]) -> list[bytes]:
        try:
            records: list[bytes] = self.reader.read(offsets)
        except RuntimeError as error:
            raise SourceError(f"cannot read records of {self.path!r}: {error}") from error
        if not all(records):
            self._check_size(offsets[records.index(b"")])
        return records

    def _check_size(self, offset: int) -> None:
        """Raises if the file has become shorter: the native reader gives empty records for what it does not find."""
        with contextlib.suppress(FileNotFoundError):  # an open file can be read when its name is gone
            size = files.stamp(self.path).size
            if size < self._size:
                raise SourceError(
                    f"cannot read record {offset} of {self.path!r}: the file had {self._size} bytes when it was opened, "
                    f"now it has {size}"
                )


class ArrayRecordDataSource(DataSource[bytes]):
    """The records of ArrayRecord files, as bytes; `write_array_record` writes such files.

    >>> import tempfile, grain
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = grain.sources.write_array_record(f"{folder}/train.arrayrecord", [b"a", b"b", b"c"], shards=2)
    ...     ArrayRecordDataSource(f"{folder}/train-*.arrayrecord")[2]
    b'c'

    Args:
      paths: a path, a pattern ("train-*.arrayrecord"), a file instruction (an object with filename, skip, take and
        examples_in_shard, as TFDS has them), or a sequence that mixes these.
      reader_options: options of the native reader, such as {"index_storage_option": "offloaded"}.
    """

    def __init__(
        self,
        paths: PathOrInstruction | Sequence[PathOrInstruction],
        reader_options: Mapping[str, str] | None = None,
    ) -> None:
        self._parts = _parts(paths)
        options = {**_RANDOM_ACCESS_OPTIONS, **(reader_options or {})}
        self._options = ",".join(f"{name}:{value}" for name, value in options.items())
        self._open = BoundedCache(self._open_file, files.open_limit())
        self._shards: Shards | None = None
        self._lock = threading.Lock()

    @property
    def paths(self) -> list[str]:
        """The names of the files, one for each part that was asked for."""
        return [part.path for part in self._parts]

    def __len__(self) -> int:
        return self._layout().total

    def __repr__(self) -> str:
        text = f"hash_of_paths={hashlib.sha1(''.join(self.paths).encode()).hexdigest()}"
        if not all(part.whole for part in self._parts):
            slices = [None if part.whole else (part.skip, part.take) for part in self._parts]
            text += f", hash_of_slices={hashlib.sha1(repr(slices).encode()).hexdigest()[:16]}"
        return f"ArrayRecordDataSource({text})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def __enter__(self) -> "ArrayRecordDataSource":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._open = BoundedCache(self._open_file, files.open_limit())

    def _open_file(self, shard: int) -> _OpenFile:
        path, skip, take, _ = self._parts[shard]
        file = _OpenFile(path, self._options)
        if take is not None and skip + take > file.length:
            raise SourceError(f"{path!r} has {file.length} records, the instruction asks for {take} after {skip}")
        if take is None and self._shards is not None and file.length != (known := self._shards.lengths[shard]):
            raise SourceError(f"{path!r} had {known} records when it was first opened, now it has {file.length}")
        return file

    def _layout(self) -> Shards:
        if self._shards is None:
            with self._lock:
                if self._shards is None:
                    self._shards = Shards(self._lengths())
        return self._shards

    def _lengths(self) -> list[int]:
        unknown = [shard for shard, part in enumerate(self._parts) if part.take is None]
        if len(unknown) <= _OPENING_THREADS:
            found = [self._open.get(shard).length for shard in unknown]
        else:
            with ThreadPoolExecutor(_OPENING_THREADS) as pool:
                found = list(pool.map(lambda shard: self._open.get(shard).length, unknown))
        length_of = dict(zip(unknown, found, strict=True))
        return [length_of[shard] if part.take is None else part.take for shard, part in enumerate(self._parts)]

    def _read_one(self, key: int) -> bytes:
        shard, offset = self._layout().locate(key)
        return self._open.get(shard).read_one(offset + self._parts[shard].skip)

    def _read(self, keys: IndexArray) -> list[bytes]:
        return self._layout().read(keys, self._read_shard)

    def _read_shard(self, shard: int, offsets: IndexArray) -> list[bytes]:
        return self._open.get(shard).read((offsets + self._parts[shard].skip).tolist())

    def __iter__(self) -> Iterator[bytes]:
        for begin in range(0, len(self), 256):
            yield from self._read(np.arange(begin, min(begin + 256, len(self)), dtype=np.int64))


def _parts(paths: PathOrInstruction | Sequence[PathOrInstruction]) -> list[_Part]:
    kinds = (str, os.PathLike, FileInstruction)
    parts: list[_Part] = []
    for path in files.listed(paths, kinds, "a path, a pattern, a file instruction"):
        if isinstance(path, FileInstruction):
            parts.append(_instructed(path))
        elif isinstance(path, (str, os.PathLike)):
            parts.extend(map(_Part, files.expand_one(path)))
        else:
            raise TypeError(f"each of paths must be a path, a pattern or a file instruction, got {path!r:.200}")
    return parts


def _instructed(instruction: FileInstruction) -> _Part:
    name = files.only(instruction.filename, "give an instruction for each")
    skip, take, total = int(instruction.skip), int(instruction.take), int(instruction.examples_in_shard)
    if take == -1:
        take = total - skip
    if skip < 0 or take < 0:
        raise ValueError(f"a file instruction needs skip >= 0 and take >= 0 (or -1 for the rest), got {instruction!r}")
    return _Part(name, skip, take, whole=skip == 0 and take == total)


def _reason(reader: Any) -> str:
    try:
        reader.close()
    except RuntimeError as error:
        return str(error) or "it is truncated or of another format"
    return "it is truncated or of another format"
