"""Sources without files: arrays, ranges, shared memory."""

import pickle
import subprocess
import sys
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np
import pytest

import grain
from grain import sources
from grain._src.conformance.equality import same


def test_arrays_give_rows_and_dicts_of_rows() -> None:
    assert sources.ArrayDataSource([5, 6])[1] == 6
    source = sources.ArrayDataSource({"x": np.arange(6).reshape(3, 2), "y": [7, 8, 9]})
    assert same(source[2], {"x": np.array([4, 5]), "y": np.int64(9)})
    assert same(source.gather([2, 0]), {"x": np.array([[4, 5], [0, 1]]), "y": np.array([9, 7])})
    assert repr(source) == "ArrayDataSource({'x': int64[3, 2], 'y': int64[3]})"


@pytest.mark.parametrize(
    ("arrays", "message"),
    [({}, "at least one"), (3, "one dimension"), ({"x": [1], "y": [1, 2]}, r"same length, got shapes .*'y': \(2,\)")],
)
def test_arrays_that_do_not_fit_are_refused(arrays: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sources.ArrayDataSource(arrays)


def test_stacked_rows_are_checked_too() -> None:
    with pytest.raises(IndexError, match="index 3 is out of range"):
        sources.ArrayDataSource([1, 2, 3]).gather([0, 3])


@pytest.mark.parametrize(("start", "stop", "step"), [(0, 10, 1), (1, 10, 3), (10, 1, -2), (5, 5, 1), (-5, 5, 5)])
def test_a_range_is_the_range(start: int, stop: int, step: int) -> None:
    source = sources.RangeDataSource(start, stop, step)
    assert list(source) == source.__getitems__(range(len(source))) == list(range(start, stop, step))
    assert repr(source) == f"RangeDataSource(start={start}, stop={stop}, step={step})"


@pytest.mark.parametrize(
    ("arguments", "error"), [((0, 5, 0), ValueError), ((5, 0, 1), ValueError), ((0.5, 1, 1), TypeError)]
)
def test_a_range_that_leads_nowhere_is_refused(arguments: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        sources.RangeDataSource(*arguments)


def test_shared_memory_holds_anything_that_pickles() -> None:
    elements = [1, 2**70, -0.5, "ü", b"\0a\0", None, True, {"x": np.arange(3)}, [], "x" * 5000]
    source = sources.SharedMemoryDataSource(elements)
    assert same(list(source), elements)
    assert same(source[-1], elements[-1])


def test_shared_memory_is_found_by_name_and_gone_after_unlink() -> None:
    source = sources.SharedMemoryDataSource([1, 2], name="grain_test_by_name")
    try:
        other = sources.SharedMemoryDataSource(name="grain_test_by_name")
        assert list(other) == [1, 2]
        assert repr(other) == repr(source) == "SharedMemoryDataSource(len=2, name='grain_test_by_name')"
    finally:
        source.unlink()
    source.unlink()
    assert list(source) == [1, 2]
    with pytest.raises(FileNotFoundError):
        sources.SharedMemoryDataSource(name="grain_test_by_name")


def test_a_made_up_name_is_not_shown() -> None:
    assert repr(sources.SharedMemoryDataSource(["a"])) == "SharedMemoryDataSource(len=1)"


def test_dropping_an_unnamed_source_gives_its_memory_back() -> None:
    source = sources.SharedMemoryDataSource([1])
    name = source._memory.name
    del source
    with pytest.raises(FileNotFoundError):
        SharedMemory(name=name)


def test_a_process_that_only_reads_does_not_take_the_memory_away() -> None:
    source = sources.SharedMemoryDataSource(["shared"])
    program = "import sys, pickle; print(pickle.load(sys.stdin.buffer)[0])"
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", program], input=pickle.dumps(source), capture_output=True, check=True
        )
        assert (done.stdout.strip(), done.stderr) == (b"shared", b"")


def test_a_program_that_forgets_to_unlink_ends_cleanly() -> None:
    program = (
        "from grain.sources import SharedMemoryDataSource as S; a = S([1], name='grain_test_forgotten');"
        "b = S(name='grain_test_forgotten'); c = S([2]); print(b[0] + c[0])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert (done.stdout.strip(), done.stderr) == (b"3", b"")
    with pytest.raises(FileNotFoundError):
        sources.SharedMemoryDataSource(name="grain_test_forgotten")


def test_elements_or_a_name_are_needed() -> None:
    with pytest.raises(ValueError, match="elements or the name"):
        sources.SharedMemoryDataSource()


def test_memory_of_another_kind_is_refused() -> None:
    memory = SharedMemory(create=True, size=64)
    try:
        with pytest.raises(sources.SourceError, match="does not hold a source"):
            sources.SharedMemoryDataSource(name=memory.name)
    finally:
        memory.close()
        memory.unlink()


def test_the_format_is_that_of_a_shareable_list() -> None:
    source = sources.InMemoryDataSource([1, 2.5, "abc", b"xy", None, True, "x" * 20])
    assert source.format == "qd8s8sxxxxxx?xxxxxxxx?24s"


def test_in_memory_is_another_name() -> None:
    assert sources.InMemoryDataSource is sources.SharedMemoryDataSource


@pytest.mark.parametrize("length", [1, 2, 63, 64, 65, 128, 1000])
@pytest.mark.parametrize("kind", [list, tuple])
def test_records_of_a_list_come_in_any_order(kind: Any, length: int) -> None:
    records = kind(f"record {i}" for i in range(length))
    ds = grain.MapDataset.source(records).shuffle(seed=3).repeat(2)
    assert list(ds.to_iter_dataset(grain.ReadOptions(0, 0))) == [ds[i] for i in range(2 * length)]


def test_a_list_that_became_shorter_is_an_error_at_its_place() -> None:
    records = list(range(300))
    it = iter(grain.MapDataset.source(records).to_iter_dataset(grain.ReadOptions(0, 0)))
    found = [next(it)]
    del records[150:]
    with pytest.raises(IndexError):
        while True:
            found.append(next(it))
    assert found == list(range(150))
