"""NumPy files by row, and token files by window."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grain import sources
from grain._src.conformance.equality import same


def test_rows_of_npy_and_npz(tmp_path: Path) -> None:
    x, y = np.arange(6, dtype=np.int16).reshape(3, 2), np.array([1.5, 2.5, 3.5])
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "xy.npz", x=x, y=y)
    assert same(sources.NumpyDataSource(tmp_path / "x.npy")[1], np.array([2, 3], np.int16))
    assert same(
        sources.NumpyDataSource(tmp_path / "xy.npz")[2], {"x": np.array([4, 5], np.int16), "y": np.float64(3.5)}
    )


def test_blocks_come_stacked(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(6).reshape(3, 2))
    assert same(sources.NumpyDataSource(tmp_path / "x.npy").gather(np.array([2, 0])), np.array([[4, 5], [0, 1]]))


def test_a_file_without_rows(tmp_path: Path) -> None:
    np.save(tmp_path / "none.npy", np.empty((0, 3)))
    assert list(sources.NumpyDataSource(tmp_path / "none.npy")) == []


def test_a_row_of_fifty_megabytes_and_rows_of_none(tmp_path: Path) -> None:
    np.save(tmp_path / "large.npy", np.ones((2, 50_000_000), np.uint8))
    assert sources.NumpyDataSource(tmp_path / "large.npy")[1].sum() == 50_000_000
    np.save(tmp_path / "thin.npy", np.ones((3, 0)))
    assert [row.shape for row in sources.NumpyDataSource(tmp_path / "thin.npy").__getitems__([0, 2])] == [(0,), (0,)]


def damaged(tmp_path: Path, name: str, data: bytes) -> Path:
    (tmp_path / name).write_bytes(data)
    return tmp_path / name


def test_damaged_and_foreign_files_are_errors_that_name_them(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(1000))
    np.savez(tmp_path / "x.npz", x=np.arange(1000))
    npy, npz = (tmp_path / "x.npy").read_bytes(), (tmp_path / "x.npz").read_bytes()
    flipped = bytearray(npz)
    flipped[500] ^= 1
    files = [npy[:-1], npy[:50], npy[:4], b"", npz[:-30], npz[:100], bytes(flipped), os.urandom(500)]
    for number, data in enumerate(files):
        path = damaged(tmp_path, f"bad{number}.npy", data)
        with pytest.raises(sources.SourceError, match=f"bad{number}"):
            sources.NumpyDataSource(path)[0]


def test_arrays_that_cannot_be_rows_are_errors(tmp_path: Path) -> None:
    np.save(tmp_path / "scalar.npy", np.array(3))
    np.savez(tmp_path / "uneven.npz", x=np.arange(3), y=np.arange(4))
    np.save(tmp_path / "objects.npy", np.array([{}, {}]), allow_pickle=True)
    for name in ("scalar.npy", "uneven.npz", "objects.npy"):
        with pytest.raises(sources.SourceError, match=name):
            len(sources.NumpyDataSource(tmp_path / name))


def test_windows_follow_each_other(tmp_path: Path) -> None:
    np.arange(10, dtype=np.uint16).tofile(tmp_path / "tokens.bin")
    source = sources.TokenDataSource(tmp_path / "tokens.bin", window=3, dtype=np.uint16)
    assert [window.tolist() for window in source] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert source[0].dtype == np.uint16


def test_windows_may_overlap_and_do_not_cross_files(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(6))
    np.save(tmp_path / "b.npy", np.arange(10, 12))
    np.save(tmp_path / "c.npy", np.arange(20, 23))
    source = sources.TokenDataSource(str(tmp_path / "*.npy"), window=3, stride=2)
    assert [window.tolist() for window in source] == [[0, 1, 2], [2, 3, 4], [20, 21, 22]]


@pytest.mark.parametrize(("count", "windows"), [(0, 0), (3, 0), (4, 1), (7, 1), (8, 2)])
def test_the_number_of_windows(tmp_path: Path, count: int, windows: int) -> None:
    np.arange(count, dtype=np.int32).tofile(tmp_path / "tokens.bin")
    assert len(sources.TokenDataSource(tmp_path / "tokens.bin", window=4, dtype="int32")) == windows


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"window": 0, "dtype": "uint16"}, "window must be a positive integer, got 0"),
        ({"window": 2, "stride": -1, "dtype": "uint16"}, "stride must be a positive integer, got -1"),
        ({"window": 2, "dtype": "float32"}, "dtype must be an integer type, got float32"),
        ({"window": 2}, "dtype must be given for raw token files"),
        ({"window": 2, "dtype": "uint16"}, "has 5 bytes, not a multiple of the 2 of a token"),
    ],
)
def test_wrong_arguments_and_odd_files_are_refused(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    (tmp_path / "tokens.bin").write_bytes(b"12345")
    with pytest.raises(ValueError, match=message):
        len(sources.TokenDataSource(tmp_path / "tokens.bin", **arguments))


def test_token_files_hold_one_row_of_integers(tmp_path: Path) -> None:
    for name, array in (("two.npy", np.zeros((2, 2), int)), ("float.npy", np.zeros(4))):
        np.save(tmp_path / name, array)
        with pytest.raises(sources.SourceError, match=name):
            len(sources.TokenDataSource(tmp_path / name, window=2))
