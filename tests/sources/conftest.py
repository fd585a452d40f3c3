"""Small files of every format, written once a test, and a reader in another process."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

from grain import sources

RECORDS = [b"", b"one", bytes(range(256)), b"x" * 3000, *(b"record %d" % number for number in range(40))]


@pytest.fixture(autouse=True)
def index_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keeps indexes of the tests out of the user's cache directory."""
    directory = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(directory))
    return directory


def _array_record(directory: Path) -> Any:
    sources.write_array_record(directory / "data.arrayrecord", RECORDS, shards=3)
    return sources.ArrayRecordDataSource(str(directory / "data-*.arrayrecord"))


def _grouped_array_record(directory: Path) -> Any:
    path = sources.write_array_record(directory / "grouped.arrayrecord", RECORDS, group_size=16)
    return sources.ArrayRecordDataSource(path)


def _tfrecord(directory: Path) -> Any:
    paths = [sources.write_tfrecord(directory / f"{n}.tfrecord", RECORDS[n::2]) for n in range(2)]
    return sources.TFRecordDataSource(paths)


def _json_lines(directory: Path) -> Any:
    values = [{"n": n, "text": "ü\u2028" * n, "list": [n, None, 0.5]} for n in range(30)]
    lines = [json.dumps(value, ensure_ascii=bool(value["n"] % 2)) for value in values]
    (directory / "a.jsonl").write_text("\n".join(lines[:20]) + "\n\n  \r\n", encoding="utf-8")
    (directory / "b.jsonl").write_bytes("\r\n".join(lines[20:]).encode())
    return sources.JsonLinesDataSource([directory / "a.jsonl", directory / "b.jsonl"])


def parquet_table(rows: int = 50) -> Any:
    pa = pytest.importorskip("pyarrow")
    return pa.table(
        {
            "id": np.arange(rows),
            "maybe": pa.array([None if n % 20 == 3 else n for n in range(rows)], pa.int32()),
            "text": [f"ü{n}" for n in range(rows)],
            "list": [None if n == 4 else list(range(n % 4)) for n in range(rows)],
            "struct": [{"a": n, "b": [n]} for n in range(rows)],
            "nested": [[[n], []] for n in range(rows)],
        }
    )


def _parquet(directory: Path) -> Any:
    table = parquet_table()
    import pyarrow.parquet as pq

    pq.write_table(table.slice(0, 35), directory / "a.parquet", row_group_size=10)
    pq.write_table(table.slice(35), directory / "b.parquet", row_group_size=4)
    return sources.ParquetDataSource(str(directory / "*.parquet"))


def _npy(directory: Path) -> Any:
    np.save(directory / "rows.npy", np.arange(60, dtype=np.float32).reshape(20, 3))
    return sources.NumpyDataSource(directory / "rows.npy")


def _npz(directory: Path) -> Any:
    np.savez_compressed(directory / "rows.npz", x=np.arange(60).reshape(20, 3), y=np.arange(20) % 3)
    return sources.NumpyDataSource(directory / "rows.npz")


def _tokens(directory: Path) -> Any:
    np.arange(1000, dtype=np.uint16).tofile(directory / "a.bin")
    np.arange(1000, 1033, dtype=np.uint16).tofile(directory / "b.bin")
    return sources.TokenDataSource(str(directory / "*.bin"), window=33, stride=16, dtype="uint16")


MAKERS: dict[str, Callable[[Path], Any]] = {
    "array_record": _array_record,
    "grouped_array_record": _grouped_array_record,
    "tfrecord": _tfrecord,
    "json_lines": _json_lines,
    "parquet": _parquet,
    "npy": _npy,
    "npz": _npz,
    "tokens": _tokens,
    "array": lambda _: sources.ArrayDataSource(np.random.default_rng(0).random((20, 2))),
    "array_1d": lambda _: sources.ArrayDataSource(np.arange(20)),
    "arrays": lambda _: sources.ArrayDataSource({"x": np.arange(40).reshape(20, 2), "y": np.arange(20) > 3}),
    "range": lambda _: sources.RangeDataSource(3, 100, 7),
    "range_down": lambda _: sources.RangeDataSource(100, 3, -7),
    "shared_memory": lambda _: sources.SharedMemoryDataSource([1, 2.5, "three", b"4\0", {"five": np.arange(5)}, True]),
    "sequence": lambda _: sources.SequenceDataSource("abcdef"),
}


@pytest.fixture(params=MAKERS)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Each kind of source in turn, with a few dozen elements."""
    return MAKERS[request.param](tmp_path)


def read_in_new_process(source: Any) -> list[Any]:
    """Returns all elements of `source` as a fresh interpreter reads them."""
    program = (
        "import sys, pickle; source = pickle.load(sys.stdin.buffer); "
        "pickle.dump([source[i] for i in range(len(source))], sys.stdout.buffer)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], input=cloudpickle.dumps(source), stdout=subprocess.PIPE, check=True
    )
    elements: list[Any] = cloudpickle.loads(done.stdout)
    return elements
