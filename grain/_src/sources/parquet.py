"""Parquet files: rows as dicts, read a row group at a time, at random or from front to back."""

import copy
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from grain._src.arguments import names, positive
from grain._src.errors import SourceError
from grain._src.sources import files
from grain._src.sources.base import DataSource, IndexArray
from grain._src.sources.bounded_cache import BoundedCache
from grain._src.sources.optional import require
from grain._src.sources.shards import Shards

Row: TypeAlias = dict[str, Any]
Columns: TypeAlias = dict[str, npt.NDArray[Any]]


class ParquetReader:
    """One Parquet file; a position is (row group, row within it).

    Values are what NumPy makes of a column: scalars of the column's type, text, bytes, arrays for lists, dicts for
    structs. Null is None for these; in a row group with nulls, integers become floats with NaN, as pyarrow has it.
    """

    def __init__(self, path: str, *, columns: Sequence[str] | None = None, **read_kwargs: Any) -> None:
        self.path = path
        arrow = require("pyarrow", "reading Parquet files")
        parquet = require("pyarrow.parquet", "reading Parquet files")
        files.stamp(path)
        self._damage = (arrow.ArrowException, OSError, ValueError, OverflowError, MemoryError)
        try:
            self._file = parquet.ParquetFile(path, **{"page_checksum_verification": True, **read_kwargs})
            metadata = self._file.metadata
            self.row_counts = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
            schema = self._file.schema_arrow
        except self._damage as error:
            raise SourceError(f"{path!r} is not a readable Parquet file: {error}") from error
        self._columns = _choose(path, schema.names, columns)
        # Values that a user could change in place are handed out as copies where decoded row groups are kept.
        self.nested = frozenset(field.name for field in schema if arrow.types.is_nested(field.type))
        # pyarrow's file object is not made for more than one thread at a time.
        self._lock = threading.Lock()

    def read_group(self, group: int) -> Columns:
        """Returns the columns of a row group as NumPy arrays."""
        try:
            with self._lock:
                table = self._file.read_row_group(group, columns=self._columns)
            columns = {name: table.column(number).to_numpy() for number, name in enumerate(table.column_names)}
        except self._damage as error:
            raise SourceError(f"cannot read row group {group} of {self.path!r}: {error}") from error
        if any(len(column) != self.row_counts[group] for column in columns.values()):
            raise SourceError(f"row group {group} of {self.path!r} does not have the rows that its footer promises")
        return columns

    def read_from(self, group: int, row: int) -> Iterator[Row]:
        """Yields the rows from a position to the end."""
        for number in range(group, len(self.row_counts)):
            columns = self.read_group(number)
            yield from rows({name: column[row if number == group else 0 :] for name, column in columns.items()})


def _choose(path: str, names: list[str], columns: Sequence[str] | None) -> list[str]:
    if not names or len(set(names)) < len(names):
        raise SourceError(f"{path!r} must have columns, each with a name of its own, got {names}")
    if columns is None:
        return names
    if missing := sorted(set(columns) - set(names)):
        raise ValueError(f"columns {missing} are not in {path!r}, which has {names}")
    return list(columns)


def rows(columns: Columns) -> Iterator[Row]:
    """Yields the rows as dicts; arrays hand out the scalars that indexing gives."""
    return _row_builder(len(columns))(*columns)(zip(*columns.values(), strict=True))


@functools.cache
def _row_builder(width: int) -> Callable[..., Callable[[Iterator[tuple[Any, ...]]], Iterator[Row]]]:
    """Returns the function of keys and tuples that a dict display of `width` items makes: twice as fast as dict(zip).

    The text that is evaluated depends on nothing but the number of columns.
    """
    keys = ", ".join(f"k{number}" for number in range(width))
    values = "".join(f"v{number}, " for number in range(width))
    items = ", ".join(f"k{number}: v{number}" for number in range(width))
    return eval(f"lambda {keys}: lambda rows: ({{{items}}} for {values} in rows)")  # type: ignore[no-any-return]


def _own(value: Any) -> Any:
    """Returns a copy of what can be changed in place."""
    return copy.deepcopy(value) if isinstance(value, (np.ndarray, dict, list)) else value


def _weigh(columns: Columns) -> int:
    """Returns about how many bytes a decoded row group takes; objects count for 64 bytes and a pointer."""
    return sum(column.nbytes + (64 * len(column) if column.dtype.hasobject else 0) for column in columns.values())


class ParquetDataSource(DataSource[Row]):
    """The rows of Parquet files as dicts, with random access.

    A row group is decoded whole when one of its rows is asked for, and stays decoded while it fits into
    `cache_bytes`. In a global shuffle every row may be of another row group, so the cache should hold all of them, or
    the row groups should be small; see the page on sources.

    Args:
      paths: a path, a pattern ("train-*.parquet") or a sequence of these.
      columns: which columns to read; all by default.
      cache_bytes: how much memory decoded row groups may take.
    """

    def __init__(self, paths: files.Paths, *, columns: Sequence[str] | None = None, cache_bytes: int = 1 << 30) -> None:
        self._paths = files.expand(paths)
        self._columns = None if columns is None else names("columns", columns)
        if self._columns == []:
            raise ValueError("columns must name at least one column, got none")
        self._open = BoundedCache(self._open_file, files.open_limit())
        self._groups = BoundedCache(self._load_group, positive("cache_bytes", cache_bytes), _weigh)
        self._layout_cache: tuple[Shards, list[tuple[int, int]]] | None = None
        self._lock = threading.Lock()

    @property
    def paths(self) -> list[str]:
        """The names of the files."""
        return list(self._paths)

    def __len__(self) -> int:
        return self._layout()[0].total

    def __repr__(self) -> str:
        columns = "" if self._columns is None else f", columns={self._columns!r}"
        return f"ParquetDataSource(paths={files.describe(self._paths)}{columns})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def _open_file(self, file: int) -> ParquetReader:
        return ParquetReader(self._paths[file], columns=self._columns)

    def _load_group(self, key: tuple[int, int]) -> Columns:
        file, group = key
        return self._open.get(file).read_group(group)

    def _layout(self) -> tuple[Shards, list[tuple[int, int]]]:
        """Returns the row groups of all files as one run of shards, and (file, group) of each."""
        if self._layout_cache is None:
            with self._lock:
                if self._layout_cache is None:
                    counts = [self._open.get(file).row_counts for file in range(len(self._paths))]
                    groups = [(file, group) for file, rows in enumerate(counts) for group in range(len(rows))]
                    self._layout_cache = Shards([count for rows in counts for count in rows]), groups
        return self._layout_cache

    def _read_one(self, key: int) -> Row:
        shard, offset = self._layout()[0].locate(key)
        return self._read_shard(shard, np.array([offset]))[0]

    def _read(self, keys: IndexArray) -> list[Row]:
        return self._layout()[0].read(keys, self._read_shard)

    def _read_shard(self, shard: int, offsets: IndexArray) -> list[Row]:
        shards, groups = self._layout()
        file, group = groups[shard]
        kept = self._groups.get((file, group))
        if len(next(iter(kept.values()))) != shards.lengths[shard]:
            raise SourceError(f"{self._paths[file]!r} has changed since it was first opened")
        chosen = {name: column[offsets] for name, column in kept.items()}
        for name in self._open.get(file).nested.intersection(chosen):
            column = chosen[name]
            for place, value in enumerate(column):
                column[place] = _own(value)
        return list(rows(chosen))

    def __iter__(self) -> Iterator[Row]:
        for file in range(len(self._paths)):
            yield from self._open.get(file).read_from(0, 0)
