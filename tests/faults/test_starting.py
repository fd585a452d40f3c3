"""Workers start from anywhere a user writes a pipeline, with what the pipeline needs, or say what they lack."""

import gc
import os
import sys
import textwrap
import threading
import time

import numpy as np
import psutil
import pytest

import grain
from grain._src.errors import UnpicklableError

M = grain.MapDataset
pytestmark = pytest.mark.usefixtures("nothing_is_left")
ONE = grain.MultiprocessingOptions(num_workers=1)

PROGRAM = textwrap.dedent(
    """
    import collections, dataclasses
    import grain

    OFFSET = 10
    Pair = collections.namedtuple("Pair", "a b")

    @dataclasses.dataclass
    class Item:
        value: int

    def work(x):
        return Pair(Item(helper(x)), [x])

    def helper(x):
        return x + OFFSET

    ds = grain.MapDataset.range(4).map(work).to_iter_dataset()
    got = list(ds.mp_prefetch(grain.MultiprocessingOptions(num_workers=2)))
    assert got == [Pair(Item(x + 10), [x]) for x in range(4)], got
    assert all(type(pair) is Pair and type(pair.a) is Item for pair in got)
    print("fine")
    """
)


@pytest.mark.parametrize("how", ["file", "-c", "standard input"])
def test_a_plain_program_needs_no_main_guard(how, script):
    assert script.run(PROGRAM, how) == (0, "fine\n", "")


def test_a_program_is_not_run_again_by_its_workers(script):
    assert script.run('print("once", flush=True)\n' + PROGRAM) == (0, "once\nfine\n", "")


def test_modules_beside_the_program_and_a_changed_path_are_found(script, tmp_path):
    (tmp_path / "beside.py").write_text("def double(x): return 2 * x\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "far.py").write_text("def triple(x): return 3 * x\n")
    code = textwrap.dedent(
        """
        import pathlib, sys
        sys.path.append(str(pathlib.Path("elsewhere").absolute()))
        import beside, far, grain
        ds = grain.MapDataset.range(3).map(beside.double).map(far.triple).to_iter_dataset()
        print(list(ds.mp_prefetch(grain.MultiprocessingOptions(1))))
        """
    )
    assert script.run(code) == (0, "[0, 6, 12]\n", "")


def test_workers_have_the_working_directory_and_environment(script, tmp_path, monkeypatch):
    (tmp_path / "data.txt").write_text("here")
    code = textwrap.dedent(
        """
        import os, pathlib, grain
        os.environ["SAID"] = "yes"
        read = lambda x: (pathlib.Path("data.txt").read_text(), os.environ["SAID"], os.environ["JAX_PLATFORMS"],
                          os.environ["CUDA_VISIBLE_DEVICES"])
        print(list(grain.MapDataset.range(1).map(read).to_iter_dataset().mp_prefetch(grain.MultiprocessingOptions(1))))
        assert "JAX_PLATFORMS" not in os.environ
        """
    )
    script.env.pop("JAX_PLATFORMS", None)
    assert script.run(code) == (0, "[('here', 'yes', 'cpu', '')]\n", "")


@pytest.mark.parametrize("own", ["", "glibc.malloc.perturb=1", "glibc.cpu.x86_non_temporal_threshold=0x900000"])
def test_what_a_user_sets_for_the_c_library_stays(own, monkeypatch):
    monkeypatch.setenv("GLIBC_TUNABLES", own)
    ds = grain.MapDataset.range(1).map(lambda _: os.environ["GLIBC_TUNABLES"]).to_iter_dataset()
    (seen,) = ds.mp_prefetch(grain.MultiprocessingOptions(1))
    assert own in seen
    assert seen.count("x86_non_temporal_threshold") == 1


@pytest.mark.parametrize("own", [None, "26"])
def test_threads_of_linear_algebra_soon_sleep_in_workers_unless_the_user_says_otherwise(own, monkeypatch):
    monkeypatch.delenv("OPENBLAS_THREAD_TIMEOUT", raising=False)
    if own:
        monkeypatch.setenv("OPENBLAS_THREAD_TIMEOUT", own)
    ds = grain.MapDataset.range(1).map(lambda _: int(os.environ["OPENBLAS_THREAD_TIMEOUT"])).to_iter_dataset()
    (seen,) = ds.mp_prefetch(ONE)
    assert seen == 26 if own else seen < 22


@pytest.mark.parametrize("wanted", [True, False])
def test_workers_collect_garbage_unless_the_init_function_says_otherwise(wanted):
    def init(index, count):
        assert gc.isenabled()
        if not wanted:
            gc.disable()

    ds = M.range(3).map(lambda _: gc.isenabled()).to_iter_dataset()
    assert list(ds.mp_prefetch(ONE, init)) == [wanted] * 3


def test_a_program_that_is_imported_does_not_start_itself_again(script, tmp_path):
    (tmp_path / "job.py").write_text(PROGRAM)
    alone = script.run(PROGRAM)
    assert alone[0] == 0
    assert script.run("import job") == alone


def test_a_worker_starts_no_workers():
    def nested(x):
        return list(M.range(x).to_iter_dataset().mp_prefetch(ONE)), len(psutil.Process().children())

    ds = M.range(3).map(nested).to_iter_dataset()
    assert list(ds.mp_prefetch(ONE)) == [([], 0), ([0], 0), ([0, 1], 0)]


def module_function(x):
    return x + 1


class ModuleClass(grain.transforms.Map):
    def map(self, element):
        return Result(element)


class Result:
    def __init__(self, value):
        self.value = value


def test_functions_and_classes_of_a_test_module():
    assert list(M.range(3).map(module_function).to_iter_dataset().mp_prefetch(ONE)) == [1, 2, 3]
    results = list(M.range(3).map(ModuleClass()).to_iter_dataset().mp_prefetch(ONE))
    assert [type(result) for result in results] == [Result] * 3


def test_local_classes_come_back_as_themselves():
    class Local:
        def __init__(self, value):
            self.value = value

    results = list(M.range(3).map(Local).to_iter_dataset().mp_prefetch(ONE))
    assert [type(result) for result in results] == [Local] * 3


class HoldsLock(grain.transforms.Map):
    def __init__(self):
        self.handle = threading.Lock()

    def map(self, element):
        return element


def test_what_cannot_be_pickled_is_named_with_its_transformation_and_attribute():
    ds = M.range(3).map(module_function).map(HoldsLock()).to_iter_dataset()
    with pytest.raises(
        UnpicklableError, match=r"in `map\(.*HoldsLock.*\.handle cannot be pickled: it is a _thread.lock"
    ):
        with iter(ds.mp_prefetch(ONE)) as it:
            next(it)


@pytest.mark.parametrize("place", ["source", "random access", "stream", "after a merge", "init"])
def test_what_cannot_be_pickled_is_an_error_each_time_and_nowhere_a_hang(place):
    lock = threading.Lock()

    def locked(*args):
        return lock and args[0]

    class Source(list):
        def __init__(self):
            super().__init__(range(50))
            self.handle = lock

    ds = M.source(Source()) if place == "source" else M.range(50)
    ds = (ds.map(locked) if place == "random access" else ds).to_iter_dataset()
    if place == "stream":
        ds = ds.map(locked).filter(bool)
    init = locked if place == "init" else None
    ds = ds.filter(lambda x: True).batch(2)
    if place == "after a merge":
        with iter(ds.map(locked).mp_prefetch(ONE)) as it:  # cheap steps stay here, where nothing need be pickled
            assert len(list(it)) == 25
        return
    with pytest.raises(UnpicklableError, match="lock"):
        iter_and_next(ds.mp_prefetch(ONE, worker_init_fn=init))


class SlowWithLock(HoldsLock):
    def map(self, element):
        time.sleep(0.002)  # worth a trip to a worker
        return element


def test_a_step_after_a_merge_that_cannot_be_pickled_is_computed_here():
    ds = M.range(50).to_iter_dataset(grain.ReadOptions(0, 0)).filter(lambda x: x % 2).batch(2).map(SlowWithLock())
    expected = [batch.tolist() for batch in ds]
    with pytest.warns(RuntimeWarning, match=r"SlowWithLock.*handle cannot be pickled.*computed in this process"):
        assert [batch.tolist() for batch in ds.mp_prefetch(ONE)] == expected


class StreamWithLock(grain.IterDataset):
    def __init__(self):
        super().__init__()
        self.handle = threading.Lock()

    def __iter__(self):
        return iter(M.range(3).to_iter_dataset())


def test_a_stream_that_cannot_be_pickled_is_named():
    with pytest.raises(UnpicklableError, match=r"in `StreamWithLock`.*handle cannot be pickled"):
        with iter(StreamWithLock().mp_prefetch(ONE)) as it:
            next(it)


def iter_and_next(ds):
    with iter(ds) as it:
        for _ in range(2):
            try:
                next(it)
            except UnpicklableError as error:
                last = error
        raise last


def test_an_element_that_cannot_be_sent_is_an_error_at_its_place():
    def make(x):
        return threading.Lock() if x == 6 else x

    with iter(M.range(9).map(make).to_iter_dataset().mp_prefetch(ONE)) as it:
        assert [next(it) for _ in range(6)] == list(range(6))
        with pytest.raises(TypeError, match="lock") as caught:
            next(it)
        assert any("while sending elements" in note for note in caught.value.__notes__)
        it.set_state({"next_index": 7})
        assert list(it) == [7, 8]


def test_an_error_of_a_worker_shows_where_it_was_raised():
    def deep(x):
        return 1 // (3 - x)

    with iter(M.source([1, 2, 3, 4]).map(deep).to_iter_dataset().mp_prefetch(ONE)) as it:
        assert next(it) == 0
        assert next(it) == 1
        with pytest.raises(ZeroDivisionError) as caught:
            next(it)
    notes = "\n".join(caught.value.__notes__)
    assert "for element 2 of the pipeline, made of record 2 of list" in notes
    assert "by `map(" in notes
    assert "in deep" in notes


def test_streams_of_the_users_own_each_have_one_worker():
    mixed = grain.IterDataset.mix([Counting(60), Counting(60), Counting(60)])
    expected = list(mixed)
    for count in (1, 2):
        assert list(mixed.mp_prefetch(grain.MultiprocessingOptions(count))) == expected


class Counting(grain.IterDataset):
    def __init__(self, count):
        super().__init__()
        self.count = count

    def __iter__(self):
        return CountingIterator(self.count)


class CountingIterator(grain.DatasetIterator):
    def __init__(self, count):
        super().__init__()
        self.count, self.at = count, 0

    def __next__(self):
        if self.at >= self.count:
            raise StopIteration
        self.at += 1
        return self.at - 1

    def get_state(self):
        return {"at": self.at}

    def set_state(self, state):
        self.at = state["at"]


def test_an_interpreter_without_a_path_is_told(monkeypatch):
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(RuntimeError, match=r"sys\.executable is empty"):
        with iter(M.range(3).to_iter_dataset().mp_prefetch(ONE)) as it:
            next(it)


def test_a_large_array_in_the_pipeline_is_one_copy_for_all_workers():
    array = np.arange(8_000_000, dtype=np.float64).reshape(1000, -1)
    ds = M.source(array).map(lambda row: (os.getpid(), float(row[0]), private_megabytes())).to_iter_dataset()
    with iter(ds.mp_prefetch(grain.MultiprocessingOptions(2))) as it:
        seen = list(it)
    assert [value for _, value, _ in seen] == array[:, 0].tolist()
    assert max(private for _, _, private in seen) < 64 + min(private for _, _, private in seen)


def private_megabytes():
    with open("/proc/self/smaps_rollup") as lines:
        return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) // 1024
