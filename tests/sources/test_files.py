"""The one layer through which sources reach files."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grain import sources
from grain._src.sources import files
from grain.experimental import ParquetIterDataset, TFRecordIterDataset


def test_patterns_and_paths_expand_in_the_order_given(tmp_path: Path) -> None:
    for name in ("b1", "a2", "a1", "c"):
        (tmp_path / name).touch()
    found = files.expand([tmp_path / "c", str(tmp_path / "a*"), tmp_path / "b[0-9]"])
    assert [os.path.basename(name) for name in found] == ["c", "a1", "a2", "b1"]


@pytest.mark.parametrize("paths", [3, None, {"a"}, [3]])
def test_what_is_no_path_is_refused(paths: Any) -> None:
    with pytest.raises(TypeError):
        files.expand(paths)


def test_bytes_and_empty_names_are_refused() -> None:
    with pytest.raises(TypeError):
        files.expand_one(b"name")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="empty"):
        files.expand("")


READERS = [
    sources.ArrayRecordDataSource,
    sources.TFRecordDataSource,
    sources.JsonLinesDataSource,
    sources.ParquetDataSource,
    sources.NumpyDataSource,
    lambda paths: sources.TokenDataSource(paths, window=2, dtype="uint16"),
    ParquetIterDataset,
    TFRecordIterDataset,
]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("paths", [None, 3, b"a", [b"a"], {"a"}])
def test_every_reader_refuses_what_is_no_path(read: Any, paths: Any) -> None:
    with pytest.raises(TypeError, match=r"paths? must (be a path|be text|name one file)"):
        read(paths)


@pytest.mark.parametrize("read", READERS)
def test_a_folder_is_no_file(tmp_path: Path, read: Any) -> None:
    with pytest.raises(IsADirectoryError, match=r"is a folder, not a file: name the files in it, as '.*/\*'"):
        read(tmp_path)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        files.expand([tmp_path])


def test_a_pattern_matches_files_only(tmp_path: Path) -> None:
    (tmp_path / "a1").touch()
    (tmp_path / "a2").mkdir()
    assert files.expand(tmp_path / "a*") == [str(tmp_path / "a1")]
    with pytest.raises(FileNotFoundError, match="no file matches"):
        files.expand(tmp_path / "a[2]")


def test_who_reads_one_file_says_what_to_do_with_several(tmp_path: Path) -> None:
    for name in ("a1.npy", "a2.npy"):
        np.save(tmp_path / name, np.arange(3))
    with pytest.raises(ValueError, match=r"path must name one file, .* matches 2: .*grain.MapDataset.concatenate"):
        sources.NumpyDataSource(tmp_path / "a*.npy")
    with pytest.raises(TypeError, match=r"path must name one file, got \['a1', 'a2'\]: .*grain.MapDataset.concatenate"):
        sources.NumpyDataSource(["a1", "a2"])  # type: ignore[arg-type]
    assert len(sources.NumpyDataSource(tmp_path / "a1*")) == 3


def test_an_address_of_an_object_store_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="only local files are supported, got 'gs://bucket/a'"):
        files.expand("gs://bucket/a")


def test_an_empty_file_is_mapped_as_no_bytes(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert len(files.map_file(str(tmp_path / "empty"))) == 0


def test_files_take_their_places_together_or_not_at_all(tmp_path: Path) -> None:
    names = [str(tmp_path / name) for name in ("a", "b")]

    def write(fail: bool) -> None:
        with files.replace_together(names) as temporary:
            for name in temporary:
                Path(name).write_text("new")
            if fail:
                raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        write(fail=True)
    assert os.listdir(tmp_path) == []
    write(fail=False)
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_many_names_are_described_briefly_and_apart() -> None:
    assert files.describe(["a", "b"]) == "['a', 'b']"
    names = [f"file-{number}" for number in range(1000)]
    assert len(files.describe(names)) < 80
    assert files.describe(names) != files.describe(names[:1] + names[1:][::-1])
