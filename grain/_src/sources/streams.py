"""Files read from front to back, as nodes of a pipeline: their states are exact positions in the file."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from grain._src.errors import StateError
from grain._src.nodes.base import Node
from grain._src.nodes.counts import count
from grain._src.nodes.stream import DatasetIterator, StreamNode, closed_error, field
from grain._src.sources.parquet import Columns, ParquetReader, rows
from grain._src.sources.tfrecord import FRAME, TFRecordReader


class _FileStream(StreamNode):
    """A stream that begins at a file."""

    @property
    def parents(self) -> tuple[Node, ...]:
        return ()

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        return ()


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class TFRecordStream(_FileStream):
    """The records of one TFRecord file."""

    name = "tfrecord"
    path: str

    def build(self, parents: Sequence[DatasetIterator[Any]]) -> DatasetIterator[bytes]:
        return TFRecordIterator(self.path)


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class ParquetStream(_FileStream):
    """The rows of one Parquet file; `read_kwargs` go to pyarrow.parquet.ParquetFile."""

    __eq__ = object.__eq__  # what it holds may not be comparable
    __hash__ = object.__hash__

    name = "parquet"
    path: str
    read_kwargs: Mapping[str, Any]

    def build(self, parents: Sequence[DatasetIterator[Any]]) -> DatasetIterator[dict[str, Any]]:
        return ParquetIterator(self.path, self.read_kwargs)


class TFRecordIterator(DatasetIterator[bytes]):
    """Its state: the byte at which the next record begins."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self._offset = 0
        self._reader: TFRecordReader | None = None
        self._records: Iterator[bytes] | None = None

    def __next__(self) -> bytes:
        if self._closed:
            raise closed_error("tfrecord")
        if self._records is None:
            self._reader = self._reader or TFRecordReader(self._path)
            self._records = self._reader.read_from(self._offset)
        try:
            record = next(self._records)
        except Exception as error:
            if not isinstance(error, StopIteration):
                self._records = None  # What is damaged is damaged again when it is asked for again.
            raise
        self._offset += FRAME + len(record)
        return record

    def close(self) -> None:
        super().close()
        self._reader = self._records = None

    def get_state(self) -> dict[str, Any]:
        return {"reader_offset": self._offset}

    def set_state(self, state: dict[str, Any]) -> None:
        self._offset = count(state, "reader_offset")
        self._records = None


class ParquetIterator(DatasetIterator[dict[str, Any]]):
    """Its state: the row group and the row within it that comes next; a row past a group's last means the next group."""

    def __init__(self, path: str, read_kwargs: Mapping[str, Any]) -> None:
        super().__init__()
        self._path = path
        self._read_kwargs = read_kwargs
        self._group = 0
        self._row = 0
        self._reader: ParquetReader | None = None
        self._rows: Iterator[dict[str, Any]] = iter(())
        self._read = False  # whether what follows in the group has been read

    def __next__(self) -> dict[str, Any]:
        while True:
            for row in self._rows:
                self._row += 1
                return row
            if self._closed:
                raise closed_error("parquet")
            if self._read:
                self._go_to_next_group()
            self._rows, self._read = rows(self._rest_of_group()), True

    def _open(self) -> ParquetReader:
        if self._reader is None:
            self._reader = ParquetReader(self._path, **self._read_kwargs)
        return self._reader

    def _rest_of_group(self) -> Columns:
        reader = self._open()
        if self._group >= len(reader.row_counts):
            raise StopIteration
        columns = reader.read_group(self._group)
        return {name: column[self._row :] for name, column in columns.items()}

    def _go_to_next_group(self) -> None:
        counts = self._open().row_counts
        following = next((group for group in range(self._group + 1, len(counts)) if counts[group]), None)
        if following is None:
            raise StopIteration
        self._go_to(following, 0)

    def _go_to(self, group: int, row: int) -> None:
        self._group, self._row, self._rows, self._read = group, row, iter(()), False

    def close(self) -> None:
        super().close()
        self._reader, self._rows = None, iter(())

    def get_state(self) -> dict[str, Any]:
        return {"row_group": self._group, "index_within_row_group": self._row}

    def set_state(self, state: dict[str, Any]) -> None:
        group, row = field(state, "row_group", int), field(state, "index_within_row_group", int)
        counts = self._open().row_counts
        if not 0 <= group <= max(len(counts) - 1, 0) or not 0 <= row <= (counts[group] if counts else 0):
            raise StateError(
                f"row {row} of row group {group} is not in {self._path!r}, whose groups have {counts} rows"
            )
        self._go_to(group, row)
