"""Files read from front to back: exact states, damage at its own place."""

import json
import pickle
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grain import sources
from grain._src.conformance.equality import same
from grain._src.errors import StateError
from grain.experimental import ParquetIterDataset, TFRecordIterDataset

RECORDS = [b"rec%d" % n * n for n in range(6)]


@pytest.fixture
def tfrecord(tmp_path: Path) -> str:
    return sources.write_tfrecord(tmp_path / "six.tfrecord", RECORDS)


@pytest.fixture
def parquet(tmp_path: Path) -> str:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    name = str(tmp_path / "seven.parquet")
    pq.write_table(pa.table({"f": np.arange(7, dtype=np.float32), "s": list("abcdefg")}), name, row_group_size=3)
    return name


def resumes_everywhere(ds: Any) -> None:
    """Every state, taken through JSON, leads to exactly the elements that came after it."""
    iterator = iter(ds)
    states, elements = [iterator.get_state()], []
    for element in iterator:
        elements.append(element)
        states.append(iterator.get_state())
    for number, state in enumerate(states):
        again = iter(ds)
        again.set_state(json.loads(json.dumps(state)))
        assert same(list(again), elements[number:])
        iterator.set_state(state)
        assert same(list(iterator), elements[number:])


def test_tfrecord_states_are_those_of_the_reference(tfrecord: str) -> None:
    iterator = iter(TFRecordIterDataset(tfrecord))
    assert iterator.get_state() == {"reader_offset": 0}
    assert [next(iterator) for _ in range(3)] == RECORDS[:3]
    assert iterator.get_state() == {"reader_offset": 60}
    assert list(iterator) == RECORDS[3:]
    assert iterator.get_state() == {"reader_offset": 156}


def test_tfrecord_resumes_everywhere(tfrecord: str) -> None:
    resumes_everywhere(TFRecordIterDataset(tfrecord))
    resumes_everywhere(TFRecordIterDataset(tfrecord).map(len).filter(lambda n: n != 8).batch(2))


def test_parquet_states_are_those_of_the_reference(parquet: str) -> None:
    iterator = iter(ParquetIterDataset(parquet))
    states = [iterator.get_state()]
    for row in iterator:
        assert same(row, {"f": np.float32(len(states) - 1), "s": "abcdefg"[len(states) - 1]})
        states.append(iterator.get_state())
    expected = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3), (2, 1)]
    assert states == [{"row_group": group, "index_within_row_group": row} for group, row in expected]
    assert iterator.get_state() == {"row_group": 2, "index_within_row_group": 1}


def test_parquet_resumes_everywhere(parquet: str) -> None:
    resumes_everywhere(ParquetIterDataset(parquet))


def test_read_kwargs_reach_pyarrow(parquet: str) -> None:
    assert len(list(ParquetIterDataset(parquet, memory_map=True))) == 7
    with pytest.raises(TypeError, match="no_such_option"):
        next(iter(ParquetIterDataset(parquet, no_such_option=1)))


def test_an_end_stays_the_end(tfrecord: str, parquet: str) -> None:
    for ds in (TFRecordIterDataset(tfrecord), ParquetIterDataset(parquet)):
        iterator = iter(ds)
        assert len(list(iterator)) > 0
        for _ in range(3):
            with pytest.raises(StopIteration):
                next(iterator)


def test_a_closed_stream_lets_its_file_go_and_says_so(tfrecord: str, parquet: str) -> None:
    for ds in (TFRecordIterDataset(tfrecord), ParquetIterDataset(parquet)):
        iterator = iter(ds)
        next(iterator)
        state = iterator.get_state()
        iterator.close()
        assert iterator.get_state() == state
        with pytest.raises(ValueError, match="closed"):
            next(iterator)


def test_files_without_records_end_at_once(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "none.parquet")
    sources.write_tfrecord(tmp_path / "none.tfrecord", [])
    resumes_everywhere(ParquetIterDataset(tmp_path / "none.parquet"))
    resumes_everywhere(TFRecordIterDataset(tmp_path / "none.tfrecord"))
    assert list(ParquetIterDataset(tmp_path / "none.parquet")) == list(TFRecordIterDataset(tmp_path / "none.tfrecord"))


def test_damage_is_reported_each_time_it_is_reached(tfrecord: str) -> None:
    data = bytearray(Path(tfrecord).read_bytes())
    data[-6] ^= 1
    Path(tfrecord).write_bytes(data)
    iterator = iter(TFRecordIterDataset(tfrecord))
    assert [next(iterator) for _ in range(5)] == RECORDS[:5]
    for _ in range(2):
        with pytest.raises(sources.SourceError, match=r"six\.tfrecord.*checksum"):
            next(iterator)


def test_states_of_other_pipelines_and_positions_outside_are_refused(tfrecord: str, parquet: str) -> None:
    for state in ({"next_index": 3}, {"reader_offset": "x"}, {"reader_offset": -1}):
        with pytest.raises(StateError):
            iter(TFRecordIterDataset(tfrecord)).set_state(state)
    wrong = [
        {"row_group": 3, "index_within_row_group": 0},
        {"row_group": 0, "index_within_row_group": 4},
        {"row_group": 0},
    ]
    for state in wrong:
        with pytest.raises(StateError):
            iter(ParquetIterDataset(parquet)).set_state(state)


def test_missing_files_are_errors_that_name_them(tmp_path: Path) -> None:
    for dataset in (TFRecordIterDataset, ParquetIterDataset):
        with pytest.raises(FileNotFoundError, match="nowhere"):
            dataset(str(tmp_path / "nowhere"))


def test_a_dataset_of_files_can_be_pickled(tfrecord: str, parquet: str) -> None:
    for ds in (TFRecordIterDataset(tfrecord), ParquetIterDataset(parquet)):
        assert same(list(pickle.loads(pickle.dumps(ds))), list(ds))


def test_datasets_of_files_print_what_they_read(tfrecord: str, parquet: str) -> None:
    assert "tfrecord" in repr(TFRecordIterDataset(tfrecord))
    assert "parquet" in repr(ParquetIterDataset(parquet))


def many_files(directory: Path, sizes: list[int]) -> list[str]:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    names = [str(directory / f"{number:02d}.parquet") for number in range(len(sizes))]
    for number, (name, size) in enumerate(zip(names, sizes, strict=True)):
        column = pa.array([100 * number + row for row in range(size)], pa.int64())
        pq.write_table(pa.table({"x": column}), name, row_group_size=2)
    return names


def test_rows_of_several_files_come_in_turn_as_in_the_reference(tmp_path: Path) -> None:
    ds = ParquetIterDataset(many_files(tmp_path, [1 + number % 3 for number in range(19)]))
    recorded = [100 * number for number in range(16)]
    recorded += [101, 201, 401, 501, 701, 801, 1001, 1101, 1301, 1401, 1600, 202, 1700, 502, 1800, 802, 1102, 1402]
    recorded += [1601, 1701, 1702]
    assert [int(row["x"]) for row in ds] == recorded


def test_the_states_of_several_files_are_those_of_the_reference(tmp_path: Path) -> None:
    iterator = iter(ParquetIterDataset(many_files(tmp_path, [0, 2, 0, 1])))
    # (place, rows read of each file within its row group, which have ended), recorded from the reference
    recorded = [
        (0, [0, 0, 0, 0], [0, 0, 0, 0]),
        (2, [0, 1, 0, 0], [1, 0, 0, 0]),
        (0, [0, 1, 0, 1], [1, 0, 1, 0]),
        (2, [0, 2, 0, 1], [1, 0, 1, 0]),
    ]
    states = [iterator.get_state(), *(iterator.get_state() for _ in iterator)]
    assert states == [
        {
            "next_index_in_cycle": place,
            "next_index_in_datasets": 4,
            "iterators_in_use_indices": [0, 1, 2, 3],
            "iterators_in_use_states": [{"row_group": 0, "index_within_row_group": row} for row in rows],
            "exhausted": ended,
            "future_states": {},
        }
        for place, rows, ended in recorded
    ]


@pytest.mark.parametrize("sizes", [[2, 1, 3], [0, 2, 0, 1], [0, 0], [1 + number % 3 for number in range(19)]])
def test_several_files_resume_everywhere(tmp_path: Path, sizes: list[int]) -> None:
    resumes_everywhere(ParquetIterDataset(many_files(tmp_path, sizes)))


@pytest.mark.parametrize("sizes", [[2, 1, 3], [0, 2, 0, 1], [0, 0]])
def test_several_tfrecord_files_follow_each_other_and_resume_everywhere(tmp_path: Path, sizes: list[int]) -> None:
    records = [[b"%d of %d" % (n, file) for n in range(size)] for file, size in enumerate(sizes)]
    names = [sources.write_tfrecord(tmp_path / f"{file}.tfrecord", part) for file, part in enumerate(records)]
    ds = TFRecordIterDataset(names)
    assert list(ds) == list(chain(*records))
    assert list(TFRecordIterDataset(tmp_path / "*.tfrecord")) == list(ds)
    assert list(TFRecordIterDataset(names[::-1])) == list(chain(*records[::-1]))
    resumes_everywhere(ds)
    resumes_everywhere(ds.map(len).batch(2))


def test_a_pattern_names_several_files(tmp_path: Path) -> None:
    names = many_files(tmp_path, [2, 1])
    assert same(list(ParquetIterDataset(str(tmp_path / "*.parquet"))), list(ParquetIterDataset(names)))


def test_a_slice_leaves_some_of_the_files(tmp_path: Path) -> None:
    names = many_files(tmp_path, [1, 1, 1, 1, 1])
    ds = ParquetIterDataset(names)
    ds.set_slice(slice(0, None, 2))
    assert [int(row["x"]) for row in ds] == [0, 200, 400]
    single = ParquetIterDataset(names[0])
    single.set_slice(slice(1, None, 2))
    assert len(list(single)) == 1


def test_a_state_of_other_files_is_refused(tmp_path: Path) -> None:
    names = many_files(tmp_path, [1, 1, 1])
    state = iter(ParquetIterDataset(names)).get_state()
    with pytest.raises(StateError, match="cycle of 3 streams, this one has 2"):
        iter(ParquetIterDataset(names[:2])).set_state(state)
    with pytest.raises(StateError, match="these 3"):
        iter(ParquetIterDataset(names)).set_state({**state, "next_index_in_datasets": 9})
