"""Worker processes as a user meets them: what arrives, who computes, and that it is a knob and nothing else."""

import os
import tempfile
import time

import ml_dtypes
import numpy as np
import pytest

import grain
from grain._src.conformance.equality import same

M = grain.MapDataset
INLINE = grain.ReadOptions(0, 0)


def workers(count, **options):
    return grain.MultiprocessingOptions(num_workers=count, **options)


class Opaque:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return type(other) is Opaque and other.value == self.value

    __hash__ = None


def kinds():
    big = np.arange(20_000, dtype=np.float32)
    readonly = np.arange(5)
    readonly.flags.writeable = False
    return [
        1,
        2.5,
        True,
        1 + 2j,
        2**100,
        "text",
        b"bytes\0",
        None,
        (),
        {},
        {"b": [1, (2, 3)], "a": {"c": big}},
        big,
        big[::3],
        np.asfortranarray(big.reshape(100, 200)),
        big.reshape(100, 200).T,
        np.zeros((0, 5), np.int16),
        np.array(7),
        np.float32(1.5),
        np.datetime64("2024-01-01"),
        np.array(["a", "längër"]),
        np.array([b"x", b"yz"]),
        np.array([1, "x", None], object),
        np.zeros(30_000, [("a", "i4"), ("b", "f8", 2)]),
        np.arange(30_000).astype(ml_dtypes.bfloat16),
        np.arange(10).astype(ml_dtypes.float8_e4m3fn),
        np.arange(30_000, dtype=">i8"),
        readonly,
        Opaque(np.float64(3)),
        [big, big],
        range(5),
        {1, 2},
    ]


def test_elements_of_every_kind_arrive_equal_to_inline():
    ds = M.source(kinds()).to_iter_dataset(INLINE, allow_nones=True)
    inline = list(ds)
    with iter(ds.mp_prefetch(workers(1))) as it:
        for expected, arrived in zip(inline, it, strict=True):
            assert same(arrived, expected), (arrived, expected)
            if isinstance(arrived, np.ndarray):
                assert arrived.flags.writeable == expected.flags.writeable


@pytest.mark.parametrize("make", [lambda x: np.full((30, 40, 3), x, np.uint8), lambda x: {"a": x, "s": "ab" * x}])
def test_batches_arrive_equal_and_are_the_users_own(make):
    ds = M.range(24).map(make).to_iter_dataset(INLINE).batch(8)
    inline = list(ds)
    with iter(ds.mp_prefetch(workers(2))) as it:
        arrived = list(it)
    assert all(map(same, arrived, inline))
    if isinstance(arrived[0], np.ndarray):
        arrived[0][:] = 255
        assert arrived[1].max() == 15


def test_no_workers_is_no_process():
    with iter(M.range(5).map(lambda x: os.getpid()).to_iter_dataset().mp_prefetch(workers(0))) as it:
        assert set(it) == {os.getpid()}


def test_the_work_is_done_elsewhere_and_what_follows_here():
    ds = M.range(40).map(lambda x: os.getpid()).to_iter_dataset().mp_prefetch(workers(2))
    with iter(ds.map(lambda pid: (pid, os.getpid()))) as it:
        seen = list(it)
    assert {here for _, here in seen} == {os.getpid()}
    assert os.getpid() not in {there for there, _ in seen}


def test_workers_stay_warm_across_states_and_epochs(worker_pids):
    with iter(M.range(50).map(lambda x: x).repeat(2).to_iter_dataset().mp_prefetch(workers(2))) as it:
        start = it.get_state()
        expected = list(it)
        before = worker_pids()
        assert len(before) == 2
        for _ in range(3):
            it.set_state(start)
            assert list(it) == expected
        assert worker_pids() == before


def test_a_second_mp_prefetch_is_harmless(worker_pids):
    inner = M.range(30).map(lambda x: x + 1).to_iter_dataset().filter(lambda x: x % 2).mp_prefetch(workers(2))
    ds = inner.map(lambda x: x * 10).batch(2).mp_prefetch(workers(2))
    with iter(ds) as it:
        first = next(it)
        assert len(worker_pids()) <= 2
        assert [first.tolist(), *(batch.tolist() for batch in it)] == [
            [10 * x, 10 * (x + 2)] if x + 2 <= 30 else [10 * x] for x in range(1, 31, 4)
        ]


def test_the_older_name_and_the_options_of_the_reference_are_accepted():
    ds = M.range(6).to_iter_dataset()
    assert list(ds.prefetch(workers(1))) == list(range(6))
    assert list(ds.mp_prefetch(workers(1, per_worker_buffer_size=7), sequential_slice=True)) == list(range(6))


def test_a_slow_element_delays_only_itself():
    """While one worker is busy with a slow element the other one does all the rest."""

    def work(x):
        if x == 10:
            while len(os.listdir(folder)) < 60:  # waits for elements that come after it
                pass
        elif x > 10:
            open(os.path.join(folder, str(x)), "w").close()
        return x

    with tempfile.TemporaryDirectory() as folder:
        with iter(M.range(1000).map(work).to_iter_dataset().mp_prefetch(workers(2))) as it:
            assert list(it) == list(range(1000))


def late_once(directory):
    """A function that notes what it is called with, and whose 5,000th element makes its block late."""

    def late(x):
        fd = os.open(os.path.join(directory, str(os.getpid())), os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.write(fd, b"%d\n" % x)
        os.close(fd)
        if x == 5_000:
            time.sleep(0.6)
        return x

    return late


def test_what_is_left_of_a_late_block_comes_before_what_waits_behind_it():
    with tempfile.TemporaryDirectory() as directory:
        ds = grain.MapDataset.range(20_000).map(late_once(directory)).to_iter_dataset(grain.ReadOptions(0, 0))
        with iter(ds.mp_prefetch(workers(1, per_worker_buffer_size=64))) as it:
            assert list(it) == list(range(20_000))
        (notes,) = os.scandir(directory)
        with open(notes) as file:
            computed = [int(line) for line in file]
    assert computed == list(range(20_000))


@pytest.mark.parametrize("count", [1, 3])
def test_going_back_while_a_block_is_late_loses_nothing(count):
    with tempfile.TemporaryDirectory() as directory:
        ds = grain.MapDataset.range(8_000).map(late_once(directory)).to_iter_dataset()
        with iter(ds.mp_prefetch(workers(count, per_worker_buffer_size=16))) as it:
            state = it.get_state()
            assert [next(it) for _ in range(5_000)] == list(range(5_000))
            it.set_state(state)
            assert list(it) == list(range(8_000))
            assert it.get_state() == {"next_index": 8_000}


def test_memory_is_used_again_at_once_however_many_blocks_wait():
    """What is in the cache is quick to write: a worker takes what was given back last, not what it never used."""

    def slow(x):
        time.sleep(2e-3)  # so that nothing is ready before it is asked for
        return np.full(30_000, x)

    ds = M.range(10**6).map(slow).to_iter_dataset(grain.ReadOptions(0, 0))
    with iter(ds.mp_prefetch(workers(1, per_worker_buffer_size=64))) as it:
        places = {next(it).ctypes.data for _ in range(300)}
    assert len(places) < 100


def test_the_state_does_not_grow_with_the_number_of_workers():
    ds = M.range(100).to_iter_dataset().filter(lambda x: x % 3).random_map(lambda x, rng: x, seed=1).batch(4)
    states = set()
    for count in (0, 1, 3):
        with iter(ds.mp_prefetch(workers(count))) as it:
            for _ in range(3):
                next(it)
            states.add(repr(it.get_state()))
    assert len(states) == 1


def test_several_consumers_may_have_workers_at_the_same_time():
    ds = M.range(20).map(lambda x: x * 2).to_iter_dataset().mp_prefetch(workers(1))
    with iter(ds) as one, iter(ds) as other:
        assert [next(one), next(other), next(other), next(one)] == [0, 0, 2, 2]
        assert list(one) == list(other)
