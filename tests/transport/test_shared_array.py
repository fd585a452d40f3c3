"""Arrays in named shared memory."""

import os
import subprocess
import sys

import numpy as np
import pytest

from grain.multiprocessing import SharedMemoryArray, SharedMemoryArrayMetadata


@pytest.fixture
def array():
    made = SharedMemoryArray((2, 3), np.int32)
    made[:] = np.arange(6).reshape(2, 3)
    made.unlink_on_del()
    return made


def test_another_process_reads_and_writes_the_same_memory(array):
    script = (
        "import sys; from grain.multiprocessing import *; "
        "a = SharedMemoryArray.from_metadata(SharedMemoryArrayMetadata(sys.argv[1], (2, 3), 'int32')); a[1, 2] += 100"
    )
    subprocess.run([sys.executable, "-c", script, array.metadata.name], check=True)
    assert array.tolist() == [[0, 1, 2], [3, 4, 105]]


def test_results_of_arithmetic_are_ordinary_arrays(array):
    assert type(array + 1) is np.ndarray
    assert type(array.sum()) is np.int64


def test_memory_is_freed_with_the_array_and_views_stay_readable(array):
    path = f"/dev/shm/{array.metadata.name}"
    view = np.asarray(array)[0]
    fresh = SharedMemoryArray((4,), np.float64)
    name = fresh.metadata.name
    fresh.unlink_on_del()
    del fresh
    assert os.path.exists(path)
    assert not os.path.exists(f"/dev/shm/{name}")
    assert view.tolist() == [0, 1, 2]


def test_metadata_frees_the_memory_by_name():
    array = SharedMemoryArray((4,), np.float64)
    metadata = array.metadata
    assert metadata == SharedMemoryArrayMetadata(array.shm.name, (4,), np.dtype(float))
    metadata.close_and_unlink_shm()
    with pytest.raises(FileNotFoundError):
        SharedMemoryArray.from_metadata(metadata)


def test_arrays_of_objects_are_refused():
    with pytest.raises(ValueError, match="must not hold Python objects, got object"):
        SharedMemoryArray((2,), object)
