"""Files with bytes changed or cut never crash or hang a reader, and formats with checksums never give wrong data."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grain import sources
from grain._src.conformance.equality import same

RECORDS = [b"", b"one", b"x" * 300, *(b"record %d" % number for number in range(20))]
edits = st.tuples(
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), max_size=4),
    st.one_of(st.just(1.0), st.floats(0, 1)),
)
fuzz = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def edit(data: bytes, how: tuple[list[tuple[float, int]], float]) -> bytes:
    """Returns `data` with some bytes changed and the end cut off."""
    flips, kept = how
    changed = bytearray(data)
    for place, flip in flips:
        changed[int(place * len(changed))] ^= flip
    return bytes(changed[: round(kept * len(changed))])


def check(path: Path, data: bytes, opened: Callable[[Path], Any], expected: list[Any] | None) -> None:
    """Reads the file in every way: each is an error of ours, or gives what was written (if that can be known)."""
    path.write_bytes(data)
    for read in (
        lambda source: list(source),
        lambda source: [source[index] for index in range(len(source))],
        lambda source: source.__getitems__(range(len(source))),
    ):
        with contextlib.suppress(sources.SourceError):
            found = read(opened(path))
            assert expected is None or same(found, expected[: len(found)])


@fuzz
@given(how=edits, focus=st.booleans())
def test_array_record(tmp_path: Path, how: Any, focus: bool) -> None:
    original = tmp_path / "original.arrayrecord"
    if not original.exists():
        sources.write_array_record(original, RECORDS)
    data = original.read_bytes()
    # Most of a small file is padding, so half of the examples change its beginning only.
    cut = data.index(b"record 19") + 500 if focus else len(data)
    changed = edit(data[:cut], how) + (data[cut:] if focus else b"")
    check(tmp_path / "fuzzed", changed, sources.ArrayRecordDataSource, RECORDS)


@fuzz
@given(how=edits)
def test_tfrecord(tmp_path: Path, how: Any) -> None:
    original = Path(sources.write_tfrecord(tmp_path / "original", RECORDS))
    check(tmp_path / "fuzzed", edit(original.read_bytes(), how), sources.TFRecordDataSource, RECORDS)


@fuzz
@given(how=edits)
def test_json_lines(tmp_path: Path, how: Any) -> None:
    data = "\n".join(json.dumps({"n": n, "t": "ü"}, ensure_ascii=False) for n in range(20)).encode()
    check(tmp_path / "fuzzed", edit(data, how), sources.JsonLinesDataSource, None)


@fuzz
@given(how=edits, compressed=st.booleans())
def test_parquet(tmp_path: Path, how: Any, compressed: bool) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"n": np.arange(30), "t": ["ü"] * 30, "l": [[1, 2]] * 30})
    original = tmp_path / "original"
    pq.write_table(table, original, row_group_size=8, compression="zstd" if compressed else "none")
    check(tmp_path / "fuzzed", edit(original.read_bytes(), how), sources.ParquetDataSource, None)


@fuzz
@given(how=edits, archive=st.booleans())
def test_numpy(tmp_path: Path, how: Any, archive: bool) -> None:
    rows = np.arange(40).reshape(20, 2)
    original = tmp_path / ("original.npz" if archive else "original.npy")
    np.savez(original, x=rows) if archive else np.save(original, rows)
    check(tmp_path / "fuzzed", edit(original.read_bytes(), how), sources.NumpyDataSource, None)


@fuzz
@given(data=st.binary(max_size=2000))
def test_random_bytes(tmp_path: Path, data: bytes) -> None:
    for opened in (
        sources.ArrayRecordDataSource,
        sources.TFRecordDataSource,
        sources.JsonLinesDataSource,
        sources.ParquetDataSource,
        sources.NumpyDataSource,
    ):
        check(tmp_path / "fuzzed", data, opened, None)
