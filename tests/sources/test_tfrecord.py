"""TFRecord: frames, checksums, the index that is kept, and tf.train.Example."""

import gzip
import os
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grain import sources
from grain._src.sources import crc32c, index_cache, tfrecord
from grain._src.sources.tfrecord import FRAME, TFRecordReader

RECORDS = [b"rec%d" % n * n for n in range(6)]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return sources.write_tfrecord(tmp_path / "six.tfrecord", RECORDS)


def test_the_frame_is_length_checksum_data_checksum(tmp_path: Path) -> None:
    name = sources.write_tfrecord(tmp_path / "one.tfrecord", [b"123456789"])
    # 0xE3069283 is the check value of CRC-32C; masked, it is rotated right by 15 bits and moved by a constant.
    masked = (((0xE3069283 >> 15) | (0xE3069283 << 17)) + 0xA282EAD8) & 0xFFFFFFFF
    data = Path(name).read_bytes()
    assert data[:8] == struct.pack("<Q", 9)
    assert data[12:] == b"123456789" + struct.pack("<I", masked)


def test_records_are_read_from_any_position(path: str) -> None:
    reader = TFRecordReader(path)
    position = 0
    for number, record in enumerate(RECORDS):
        assert list(reader.read_from(position)) == RECORDS[number:]
        position += FRAME + len(record)
    assert list(reader.read_from(position)) == []
    with pytest.raises(sources.SourceError, match="outside"):
        list(reader.read_from(position + 1))


@pytest.mark.parametrize("at", [0, 5, 9, 16 + 12, 16 + 12 + 2])
def test_a_flipped_byte_is_found_and_its_place_named(path: str, at: int) -> None:
    data = bytearray(Path(path).read_bytes())
    data[at] ^= 0x10
    Path(path).write_bytes(data)
    place = 0 if at < 16 else 16
    with pytest.raises(sources.SourceError, match=rf"six.tfrecord.*at byte {place},"):
        list(sources.TFRecordDataSource(path))
    with pytest.raises(sources.SourceError, match=rf"six.tfrecord.*at byte {place},"):
        source = sources.TFRecordDataSource(path)
        source.__getitems__(range(len(source)))


def test_what_is_before_the_damage_is_handed_out_first(path: str) -> None:
    data = bytearray(Path(path).read_bytes())
    data[-6] ^= 1
    Path(path).write_bytes(data)
    seen = []
    with pytest.raises(sources.SourceError, match="checksum of the record does not match"):
        for record in TFRecordReader(path).read_from(0):
            seen.append(record)
    assert seen == RECORDS[:5]
    Path(path).write_bytes(data[:-20])
    seen.clear()
    with pytest.raises(sources.SourceError, match="ends within a record"):
        for record in TFRecordReader(path).read_from(0):
            seen.append(record)
    assert seen == RECORDS[:5]


def test_checksums_of_records_can_be_left_unchecked(path: str) -> None:
    data = bytearray(Path(path).read_bytes())
    data[-6] ^= 1
    Path(path).write_bytes(data)
    assert sources.TFRecordDataSource(path, verify=False)[5] != RECORDS[5]


@pytest.mark.parametrize("cut", [1, 4, 5, 17, 100])
def test_a_truncated_file_is_an_error(path: str, cut: int) -> None:
    data = Path(path).read_bytes()
    Path(path).write_bytes(data[:-cut])
    with pytest.raises(sources.SourceError, match=r"six.tfrecord.*at byte \d+, the file ends"):
        len(sources.TFRecordDataSource(path))


def test_a_compressed_file_is_told_apart(tmp_path: Path, path: str) -> None:
    compressed = tmp_path / "six.tfrecord.gz"
    compressed.write_bytes(gzip.compress(Path(path).read_bytes()))
    with pytest.raises(sources.SourceError, match="looks compressed"):
        len(sources.TFRecordDataSource(compressed))


def test_a_foreign_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "foreign").write_bytes(os.urandom(1000))
    with pytest.raises(sources.SourceError, match="foreign"):
        len(sources.TFRecordDataSource(tmp_path / "foreign"))


def test_an_empty_file_has_no_elements(tmp_path: Path) -> None:
    source = sources.TFRecordDataSource(sources.write_tfrecord(tmp_path / "empty", []))
    assert len(source) == 0
    assert list(source) == []


def test_records_of_no_bytes_and_of_fifty_megabytes(tmp_path: Path) -> None:
    large = np.random.default_rng(0).bytes(50_000_000)
    source = sources.TFRecordDataSource(sources.write_tfrecord(tmp_path / "large", [b"", large, b""]))
    assert source.__getitems__([2, 1, 0]) == list(source) == [b"", large, b""]


def large_file(tmp_path: Path, fill: bytes = b"a") -> str:
    return sources.write_tfrecord(tmp_path / "large.tfrecord", [fill * 1000 + b"%d" % n for n in range(1200)])


def test_the_index_is_built_once_and_kept(
    tmp_path: Path, index_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = large_file(tmp_path)
    first = list(sources.TFRecordDataSource(path).__getitems__(range(1200)))
    monkeypatch.setattr(tfrecord, "scan", lambda *_: pytest.fail("scanned again"))
    again = sources.TFRecordDataSource(path)
    assert again.__getitems__(range(1200)) == first
    assert [file.suffix for file in (index_directory / "grain" / "indexes").iterdir()] == [".npy"]


def test_the_index_of_a_changed_file_is_built_again(tmp_path: Path) -> None:
    assert len(sources.TFRecordDataSource(large_file(tmp_path))) == 1200
    path = sources.write_tfrecord(tmp_path / "large.tfrecord", [b"b" * 2000 + b"%d" % n for n in range(700)])
    assert sources.TFRecordDataSource(path)[699] == b"b" * 2000 + b"699"


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-8], lambda data: data[:-8] + bytes(8), lambda data: b"", os.urandom]
)
def test_a_damaged_index_is_built_again(tmp_path: Path, damage: object) -> None:
    path, directory = large_file(tmp_path), tmp_path / "indexes"
    expected = sources.TFRecordDataSource(path, cache_dir=directory)[1199]
    (kept,) = directory.iterdir()
    kept.write_bytes(os.urandom(2000) if damage is os.urandom else damage(kept.read_bytes()))  # type: ignore[operator]
    assert sources.TFRecordDataSource(path, cache_dir=directory)[1199] == expected


def test_a_cache_directory_that_cannot_be_made_costs_nothing_but_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert len(sources.TFRecordDataSource(large_file(tmp_path), cache_dir=tmp_path / "file" / "below")) == 1200


def test_without_the_variable_indexes_go_to_the_home_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert index_cache.default_directory() == "/home/somebody/.cache/grain/indexes"


@pytest.mark.parametrize(("data", "value"), [(b"", 0), (b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA)])
def test_the_checksum_is_crc32c(data: bytes, value: int) -> None:
    assert crc32c.crc32c(data) == value


@given(st.integers(0, 20000), st.integers(0, 2**32 - 1))
def test_the_checksum_without_a_compiled_package_is_the_same(length: int, seed: int) -> None:
    compiled = pytest.importorskip("google_crc32c")
    data = np.random.default_rng(seed).bytes(length)
    assert crc32c.crc32c(data) == compiled.value(data)


def test_files_are_read_without_the_compiled_package(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tfrecord, "checksum_function", lambda: crc32c.crc32c)
    assert list(sources.TFRecordDataSource(path)) == RECORDS


def test_a_record_that_is_not_bytes_is_named_and_no_file_is_left(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="records must be bytes, got str for record 1"):
        sources.write_tfrecord(tmp_path / "train.tfrecord", [b"x", "notbytes"])  # type: ignore[list-item]
    assert list(tmp_path.iterdir()) == []


def test_no_records_at_all_say_so(tmp_path):
    with pytest.raises(TypeError, match="records must be an iterable of bytes, got None"):
        sources.write_tfrecord(tmp_path / "x", None)
    assert list(tmp_path.iterdir()) == []
