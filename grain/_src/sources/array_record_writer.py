"""Writes ArrayRecord files: all shards appear complete, or none does."""

import itertools
import os
from collections.abc import Iterable, Iterator, Sized
from typing import Any

from grain._src.arguments import positive
from grain._src.sources import files
from grain._src.sources.array_record import ArrayRecordDataSource
from grain._src.sources.base import checked_records
from grain._src.sources.optional import require


def write_array_record(
    path: files.PathLike, records: Iterable[bytes], *, group_size: int = 1, shards: int = 1
) -> list[str]:
    """Writes `records` to `path` and returns the names of the files, ready for ArrayRecordDataSource.

    With `shards=n`, "train.arrayrecord" becomes "train-00000-of-0000n.arrayrecord" and so on; read in that order they
    give the records in theirs. The files take their names only when all of them are complete.

    Args:
      group_size: how many records are compressed together. 1 is right for random access; more make files smaller and
        random access slower.
    """
    name = files.local(path)
    positive("group_size", group_size)
    if positive("shards", shards) == 1:
        return _write([name], [checked_records(records)], group_size)
    stem, suffix = os.path.splitext(name)
    names = [f"{stem}-{shard:05d}-of-{shards:05d}{suffix}" for shard in range(shards)]
    if isinstance(records, Sized):
        return _write(names, _split(checked_records(records), len(records), shards), group_size)
    # How many there are is known only at the end, so they go to disk once and are dealt out from there.
    with files.temporary_beside(name) as spool:
        _write_one(spool, checked_records(records), group_size)
        source = ArrayRecordDataSource(spool)
        return _write(names, _split(iter(source), len(source), shards), group_size)


def _split(records: Iterator[bytes], count: int, shards: int) -> Iterator[Iterator[bytes]]:
    for shard in range(shards):
        yield itertools.islice(records, count * (shard + 1) // shards - count * shard // shards)


def _write(names: list[str], parts: Iterable[Iterable[bytes]], group_size: int) -> list[str]:
    with files.replace_together(names) as temporary:
        for name, part in zip(temporary, parts, strict=True):
            _write_one(name, part, group_size)
    return names


def _write_one(name: str, records: Iterable[bytes], group_size: int) -> None:
    module = require("array_record.python.array_record_module", "writing ArrayRecord files")
    with open(name, "xb"):
        pass  # The native writer reports a missing directory or permission only when it closes.
    writer: Any = module.ArrayRecordWriter(name, f"group_size:{group_size}")
    try:
        for record in records:
            writer.write(record)
    finally:
        writer.close()
