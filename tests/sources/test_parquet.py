"""Parquet: columns and values, the cache of row groups, positions, damage."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grain import sources
from grain._src.conformance.equality import same
from grain._src.sources.parquet import ParquetReader

from .conftest import parquet_table

pq = pytest.importorskip("pyarrow.parquet")
pa = pytest.importorskip("pyarrow")


@pytest.fixture
def path(tmp_path: Path) -> str:
    name = str(tmp_path / "rows.parquet")
    pq.write_table(parquet_table(), name, row_group_size=7)
    return name


def test_rows_are_dicts_of_numpy_values(path: str) -> None:
    row = sources.ParquetDataSource(path)[5]
    expected = {
        "id": np.int64(5),
        "maybe": np.float64(5.0),
        "text": "ü5",
        "list": np.array([0]),
        "struct": {"a": 5, "b": np.array([5])},
        "nested": row["nested"],
    }
    assert same(row, expected)
    assert same(list(row["nested"]), [np.array([5]), np.array([], np.int64)])


def test_nulls_are_none_or_nan(path: str) -> None:
    source = sources.ParquetDataSource(path)
    assert np.isnan(source[3]["maybe"])
    assert source[4]["list"] is None
    assert same(source[10]["maybe"], np.int32(10))


def test_only_the_chosen_columns_are_read(path: str) -> None:
    source = sources.ParquetDataSource(path, columns=["text", "id"])
    assert same(source[49], {"text": "ü49", "id": np.int64(49)})


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        (["id", "none"], ValueError, r"columns \['none'\] are not in .*rows.parquet"),
        ([], ValueError, "at least one column"),
        ("id", TypeError, "sequence of names"),
    ],
)
def test_wrong_columns_are_refused(path: str, columns: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        len(sources.ParquetDataSource(path, columns=columns))


def test_decoded_row_groups_are_kept_within_the_budget(path: str) -> None:
    small = sources.ParquetDataSource(path, columns=["id"], cache_bytes=2 * 7 * 8)
    order = np.random.default_rng(0).permutation(50)
    assert [row["id"] for row in small.__getitems__(order)] == order.tolist()
    assert len(small._groups) == 2
    large = sources.ParquetDataSource(path, columns=["id"])
    large.__getitems__(order)
    assert len(large._groups) == 8


def test_a_row_group_is_decoded_once_while_it_is_kept(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[int] = []
    original = ParquetReader.read_group

    def counted(reader: ParquetReader, group: int) -> Any:
        decoded.append(group)
        return original(reader, group)

    monkeypatch.setattr(ParquetReader, "read_group", counted)
    source = sources.ParquetDataSource(path)
    for _ in range(3):
        source.__getitems__(np.random.default_rng(0).permutation(50))
    assert sorted(decoded) == list(range(8))


def test_a_reader_goes_on_from_any_position(path: str) -> None:
    reader = ParquetReader(path)
    assert reader.row_counts == [7] * 7 + [1]
    for group, row in ((0, 0), (0, 3), (3, 0), (3, 6), (3, 7), (7, 1), (8, 0)):
        assert [element["id"] for element in reader.read_from(group, row)] == list(range(7 * group + row, 50))


def test_empty_files_and_one_row(tmp_path: Path) -> None:
    for count in (0, 1):
        pq.write_table(parquet_table(count), tmp_path / f"{count}.parquet")
    empty = sources.ParquetDataSource(tmp_path / "0.parquet")
    assert len(empty) == 0
    assert list(empty) == []
    both = sources.ParquetDataSource(str(tmp_path / "*.parquet"))
    assert [row["id"] for row in both] == [row["id"] for row in both.__getitems__([0])] == [0]


def test_values_of_no_bytes_and_of_fifty_megabytes(tmp_path: Path) -> None:
    large = np.random.default_rng(0).bytes(50_000_000)
    pq.write_table(pa.table({"data": [b"", large, b""]}), tmp_path / "large.parquet")
    source = sources.ParquetDataSource(tmp_path / "large.parquet")
    assert [row["data"] for row in source.__getitems__([1, 0])] == [large, b""]


@pytest.mark.parametrize("kept", [0, 3, 100, -1, -9])
def test_a_truncated_file_is_an_error_that_names_it(path: str, kept: int) -> None:
    Path(path).write_bytes(Path(path).read_bytes()[:kept])
    with pytest.raises(sources.SourceError, match=r"rows\.parquet"):
        len(sources.ParquetDataSource(path))


def test_a_foreign_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "foreign").write_bytes(os.urandom(10_000))
    with pytest.raises(sources.SourceError, match="foreign"):
        len(sources.ParquetDataSource(tmp_path / "foreign"))


def test_columns_of_one_name_are_an_error(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pq.write_table(table, tmp_path / "twice.parquet")
    with pytest.raises(sources.SourceError, match="each with a name of its own"):
        len(sources.ParquetDataSource(tmp_path / "twice.parquet"))


def test_a_damaged_page_is_found_by_its_checksum(tmp_path: Path) -> None:
    name = tmp_path / "pages.parquet"
    table = pa.table({"x": np.random.default_rng(0).integers(0, 2**60, 1000)})
    pq.write_table(table, name, write_page_checksum=True, use_dictionary=False, compression="none")
    data = bytearray(name.read_bytes())
    data[4000] ^= 1
    name.write_bytes(data)
    with pytest.raises(sources.SourceError, match=r"row group 0 of .*pages\.parquet"):
        sources.ParquetDataSource(name)[0]


def test_a_missing_package_is_named_with_how_to_install_it(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"needs the package 'pyarrow': pip install pyarrow$"):
        len(sources.ParquetDataSource(path))
