"""Datasets that read files from front to back."""

from typing import Any

from grain._src import arguments
from grain._src.api.iter_dataset import IterDataset
from grain._src.nodes.base import Node
from grain._src.nodes.interleave import StreamInterleave
from grain._src.sources import files
from grain._src.sources.streams import ParquetStream, TFRecordStream

_FILES_IN_TURN = 16


class TFRecordIterDataset(IterDataset[bytes]):
    """The records of a TFRecord file in order, as bytes, with checksums verified; of several files, one after the other.

    The state within a file is a byte offset.

    Args:
      path: a path, a pattern ("train-*.tfrecord") or a sequence of these.
    """

    def __init__(self, path: files.Paths) -> None:
        super().__init__()
        self._own_node = _interleave(tuple(map(TFRecordStream, files.expand(path))), 1)


class ParquetIterDataset(IterDataset[dict[str, Any]]):
    """The rows of a Parquet file in order, as dicts; of several files, one row of each in turn.

    Args:
      path: a path, a pattern ("train-*.parquet") or a sequence of these.
      **read_kwargs: handed to `pyarrow.parquet.ParquetFile`.
    """

    def __init__(self, path: files.Paths, **read_kwargs: Any) -> None:
        super().__init__()
        self._streams = tuple(ParquetStream(name, read_kwargs) for name in files.expand(path))
        self._use(self._streams)

    def set_slice(self, sl: slice, sequential_slice: bool = False) -> None:
        """Leaves only the files in `sl`; a single file stays whole. Call it before the dataset is used."""
        arguments.flag("sequential_slice", sequential_slice)
        if len(self._streams) > 1:
            self._use(self._streams[sl])

    def _use(self, streams: tuple[ParquetStream, ...]) -> None:
        if not streams:
            raise ValueError(f"the slice leaves none of the {len(self._streams)} files")
        self._own_node = _interleave(streams, _FILES_IN_TURN)


def _interleave(streams: tuple[Node, ...], files_in_turn: int) -> Node:
    """Returns a stream of all files, so many of them open at a time; a single file is its own."""
    return streams[0] if len(streams) == 1 else StreamInterleave(streams, min(len(streams), files_in_turn))
