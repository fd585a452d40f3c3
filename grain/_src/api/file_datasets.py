"""Datasets that read files from front to back."""

from typing import Any

from grain._src import arguments
from grain._src.api.iter_dataset import IterDataset
from grain._src.nodes.interleave import StreamInterleave
from grain._src.sources import files
from grain._src.sources.streams import ParquetStream, TFRecordStream

_FILES_IN_TURN = 16


class TFRecordIterDataset(IterDataset[bytes]):
    """The records of a TFRecord file in order, as bytes, with checksums verified; its state is a byte offset."""

    def __init__(self, path: files.PathLike) -> None:
        super().__init__()
        names = files.expand_one(path)
        if len(names) != 1:
            raise ValueError(f"path must name one file, {path!r} matches {len(names)}: interleave a dataset for each")
        self._own_node = TFRecordStream(names[0])


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
        self._own_node = (
            streams[0] if len(streams) == 1 else StreamInterleave(streams, min(len(streams), _FILES_IN_TURN))
        )
