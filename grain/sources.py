"""Where records come from: files of the usual formats, arrays, datasets of other libraries."""

from grain._src.errors import SourceError
from grain._src.sources.adapters import HuggingFaceDataSource, SequenceDataSource, TfdsDataSource, TorchDataSource
from grain._src.sources.array_record import ArrayRecordDataSource
from grain._src.sources.array_record_writer import write_array_record
from grain._src.sources.arrays import ArrayDataSource
from grain._src.sources.example_proto import decode_example, encode_example
from grain._src.sources.in_memory import InMemoryDataSource, SharedMemoryDataSource
from grain._src.sources.jsonl import JsonLinesDataSource
from grain._src.sources.numpy_files import NumpyDataSource, TokenDataSource
from grain._src.sources.parquet import ParquetDataSource
from grain._src.sources.protocol import RandomAccessDataSource
from grain._src.sources.range import RangeDataSource
from grain._src.sources.tfrecord import TFRecordDataSource, write_tfrecord

__all__ = [
    "ArrayDataSource",
    "ArrayRecordDataSource",
    "HuggingFaceDataSource",
    "InMemoryDataSource",
    "JsonLinesDataSource",
    "NumpyDataSource",
    "ParquetDataSource",
    "RandomAccessDataSource",
    "RangeDataSource",
    "SequenceDataSource",
    "SharedMemoryDataSource",
    "SourceError",
    "TFRecordDataSource",
    "TfdsDataSource",
    "TokenDataSource",
    "TorchDataSource",
    "decode_example",
    "encode_example",
    "write_array_record",
    "write_tfrecord",
]
