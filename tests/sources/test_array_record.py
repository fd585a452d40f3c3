"""ArrayRecord: which files and parts of files are read, how damage is reported, how files are written."""

import dataclasses
import hashlib
import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from grain import sources
from grain._src.sources import array_record, files


@dataclasses.dataclass
class Instruction:
    filename: str
    skip: int
    take: int
    examples_in_shard: int


@pytest.fixture
def ten(tmp_path: Path) -> str:
    (path,) = sources.write_array_record(tmp_path / "ten.arrayrecord", [b"r%d" % n for n in range(10)])
    return path


def test_a_path_a_pathlike_a_pattern_and_a_list_mean_the_same(ten: str, tmp_path: Path) -> None:
    for paths in (ten, Path(ten), [ten], str(tmp_path / "t*.arrayrecord"), [tmp_path / "te?.arrayrecord"]):
        source = sources.ArrayRecordDataSource(paths)
        assert source.paths == [ten]
        assert list(source) == [b"r%d" % n for n in range(10)]


def test_matches_of_a_pattern_are_read_in_sorted_order(tmp_path: Path) -> None:
    for name in "cab":
        sources.write_array_record(tmp_path / f"{name}.arrayrecord", [name.encode()])
    assert list(sources.ArrayRecordDataSource(str(tmp_path / "*.arrayrecord"))) == [b"a", b"b", b"c"]


def test_a_file_whose_name_holds_a_wildcard_is_taken_literally(tmp_path: Path) -> None:
    sources.write_array_record(tmp_path / "odd[1].arrayrecord", [b"odd"])
    assert sources.ArrayRecordDataSource(tmp_path / "odd[1].arrayrecord")[0] == b"odd"


def test_file_instructions_choose_a_part_of_a_file(ten: str) -> None:
    source = sources.ArrayRecordDataSource([Instruction(ten, 2, 3, 10), ten, Instruction(ten, 8, -1, 10)])
    assert list(source) == [b"r2", b"r3", b"r4", *(b"r%d" % n for n in range(10)), b"r8", b"r9"]
    assert source.paths == [ten] * 3


def test_a_file_instruction_for_more_than_the_file_has_names_the_file(ten: str) -> None:
    source = sources.ArrayRecordDataSource(Instruction(ten, 8, 5, 13))
    with pytest.raises(
        sources.SourceError, match=r"ten.arrayrecord' has 10 records, the instruction asks for 5 after 8"
    ):
        source[0]


def test_the_repr_is_the_one_that_checkpoints_of_the_reference_hold(ten: str) -> None:
    digest = hashlib.sha1(ten.encode()).hexdigest()
    assert repr(sources.ArrayRecordDataSource(ten)) == f"ArrayRecordDataSource(hash_of_paths={digest})"
    assert repr(sources.ArrayRecordDataSource(Instruction(ten, 0, 10, 10))) == repr(sources.ArrayRecordDataSource(ten))


def test_other_parts_of_the_same_files_have_another_repr(ten: str) -> None:
    reprs = {repr(sources.ArrayRecordDataSource(Instruction(ten, skip, 3, 10))) for skip in range(4)}
    assert len(reprs) == 4


def test_a_missing_file_is_an_error_at_construction(tmp_path: Path) -> None:
    for path in (tmp_path / "none.arrayrecord", tmp_path / "none-*.arrayrecord"):
        with pytest.raises(FileNotFoundError, match="none"):
            sources.ArrayRecordDataSource(path)


@pytest.mark.parametrize("paths", [3, None, [3], {"a": 1}])
def test_what_is_no_path_is_refused(paths: object) -> None:
    with pytest.raises(TypeError, match="paths must be"):
        sources.ArrayRecordDataSource(paths)  # type: ignore[arg-type]


def test_no_files_at_all_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one file"):
        sources.ArrayRecordDataSource([])


def test_reader_options_reach_the_reader(ten: str) -> None:
    offloaded = {"index_storage_option": "offloaded", "footer_prefetch_bytes": "0"}
    assert sources.ArrayRecordDataSource(ten, reader_options=offloaded)[3] == b"r3"
    with pytest.raises(ValueError, match="Unknown option foo"):
        len(sources.ArrayRecordDataSource(ten, reader_options={"foo": "bar"}))


@pytest.mark.parametrize("kept", [0, 1, 1000, 65536, 100_000, -1])
def test_a_truncated_file_is_an_error_that_names_it(ten: str, kept: int) -> None:
    data = Path(ten).read_bytes()
    Path(ten).write_bytes(data[:kept])
    with pytest.raises(sources.SourceError, match=r"ten.arrayrecord"):
        len(sources.ArrayRecordDataSource(ten))


def test_a_file_that_is_truncated_while_it_is_open_is_an_error(tmp_path: Path) -> None:
    records = [b"" if n % 10 == 0 else os.urandom(1000) for n in range(2000)]
    (path,) = sources.write_array_record(tmp_path / "long.arrayrecord", records)
    source = sources.ArrayRecordDataSource(path)
    assert source[1990] == b""
    assert source.__getitems__(range(1000, 2000)) == records[1000:]
    os.truncate(path, os.path.getsize(path) // 2)
    with pytest.raises(
        sources.SourceError, match=r"cannot read record 1991 of .*long.arrayrecord.*bytes when it was op"
    ):
        source[1991]
    for count in (9, 999):
        with pytest.raises(sources.SourceError, match=r"cannot read record .* of .*long.arrayrecord"):
            source.__getitems__(range(2000 - count, 2000))


def test_empty_records_of_an_open_file_are_read_after_its_name_is_gone(tmp_path: Path) -> None:
    (path,) = sources.write_array_record(tmp_path / "gone.arrayrecord", [b"", b"a"])
    source = sources.ArrayRecordDataSource(path)
    assert source[1] == b"a"
    os.unlink(path)
    assert source[0] == b""


def test_a_foreign_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "foreign").write_bytes(os.urandom(200_000))
    with pytest.raises(sources.SourceError, match=str(tmp_path / "foreign")):
        len(sources.ArrayRecordDataSource(tmp_path / "foreign"))


def test_a_damaged_record_is_an_error_that_names_file_and_record(ten: str) -> None:
    data = bytearray(Path(ten).read_bytes())
    data[data.index(b"r7")] ^= 1
    Path(ten).write_bytes(data)
    source = sources.ArrayRecordDataSource(ten)
    assert source[6] == b"r6"
    with pytest.raises(sources.SourceError, match=r"record 7 of .*ten.arrayrecord"):
        source[7]
    with pytest.raises(sources.SourceError, match=r"ten.arrayrecord"):
        source.__getitems__([1, 7])


def test_a_file_that_changed_is_noticed_by_a_copy(ten: str, tmp_path: Path) -> None:
    source = sources.ArrayRecordDataSource(ten)
    assert len(source) == 10
    pickled = pickle.dumps(source)
    sources.write_array_record(ten, [b"short"])
    with pytest.raises(sources.SourceError, match="had 10 records when it was first opened, now it has 1"):
        pickle.loads(pickled)[0]


def test_an_empty_file_has_no_elements(tmp_path: Path) -> None:
    (path,) = sources.write_array_record(tmp_path / "empty.arrayrecord", [])
    source = sources.ArrayRecordDataSource(path)
    assert len(source) == 0
    assert list(source) == source.__getitems__([]) == []
    with pytest.raises(IndexError, match="index 0 is out of range for ArrayRecordDataSource with 0 elements"):
        source[0]


def test_empty_files_among_others_are_passed_over(tmp_path: Path) -> None:
    paths = [sources.write_array_record(tmp_path / f"{n}.arrayrecord", [b"%d" % n] * (n % 2))[0] for n in range(6)]
    source = sources.ArrayRecordDataSource(paths)
    assert list(source) == source.__getitems__([0, 1, 2]) == [b"1", b"3", b"5"]


def test_records_of_no_bytes_and_of_fifty_megabytes(tmp_path: Path) -> None:
    large = np.random.default_rng(0).bytes(50_000_000)
    (path,) = sources.write_array_record(tmp_path / "large.arrayrecord", [b"", large, b""])
    source = sources.ArrayRecordDataSource(path)
    assert source[1] == large
    assert source.__getitems__([2, 1, 0]) == [b"", large, b""]


def test_blocks_of_every_size_give_the_same_as_single_reads(tmp_path: Path) -> None:
    records = [b"%d" % n for n in range(2000)]
    for group_size in (1, 32):
        paths = sources.write_array_record(
            tmp_path / f"{group_size}.arrayrecord", records, group_size=group_size, shards=2
        )
        source = sources.ArrayRecordDataSource(paths)
        order = np.random.default_rng(1).permutation(2000)
        for size in (1, 2, 100, 600, 2000):
            for block in (order[:size], np.arange(size)):
                assert source.__getitems__(block) == [records[key] for key in block]


def test_slow_storage_gives_the_same_records(ten: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_record, "_SLOW_READ_SECONDS", 0.0)
    source = sources.ArrayRecordDataSource(ten)
    for _ in range(3):
        assert [source[n] for n in range(10)] == [b"r%d" % n for n in range(10)]
        assert source.__getitems__([3, 1]) == [b"r3", b"r1"]


def test_more_files_than_may_be_open_are_read_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "open_limit", lambda: 4)
    paths = sources.write_array_record(tmp_path / "many.arrayrecord", [b"%d" % n for n in range(60)], shards=30)
    source = sources.ArrayRecordDataSource(paths)
    order = np.random.default_rng(0).permutation(60).tolist()
    assert source.__getitems__(order) == [b"%d" % n for n in order]
    assert [source[n] for n in order] == [b"%d" % n for n in order]
    assert len(source._open) <= 4


def test_shards_hold_the_records_in_order(tmp_path: Path) -> None:
    records = [b"%d" % n for n in range(11)]
    stream: Iterator[bytes] = iter(records)
    for given in (records, stream):
        paths = sources.write_array_record(tmp_path / "train.arrayrecord", given, shards=4)
        assert [Path(path).name for path in paths] == [f"train-0000{n}-of-00004.arrayrecord" for n in range(4)]
        assert list(sources.ArrayRecordDataSource(paths)) == records
        assert sorted(os.listdir(tmp_path)) == sorted(Path(path).name for path in paths)


def test_a_failure_while_writing_leaves_no_file_and_keeps_the_old_one(tmp_path: Path) -> None:
    def failing() -> Iterator[bytes]:
        yield b"new"
        raise RuntimeError("no more records")

    path = tmp_path / "data.arrayrecord"
    sources.write_array_record(path, [b"old"])
    for shards in (1, 3):
        with pytest.raises(RuntimeError, match="no more records"):
            sources.write_array_record(path, failing(), shards=shards)
        with pytest.raises(TypeError, match="records must be bytes, got str for record 1"):
            sources.write_array_record(path, [b"fine", "text"], shards=shards)  # type: ignore[list-item]
    assert os.listdir(tmp_path) == ["data.arrayrecord"]
    assert sources.ArrayRecordDataSource(path)[0] == b"old"


def test_writing_into_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        sources.write_array_record(tmp_path / "nowhere" / "data.arrayrecord", [b"a"])


@pytest.mark.parametrize("argument", ["shards", "group_size"])
def test_counts_must_be_positive(tmp_path: Path, argument: str) -> None:
    with pytest.raises(ValueError, match=f"{argument} must be a positive integer, got 0"):
        sources.write_array_record(tmp_path / "a.arrayrecord", [], **{argument: 0})
