"""The cache of handles and row groups keeps to its limit and loads each value once."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from grain._src.sources.bounded_cache import BoundedCache


def double(key: int) -> int:
    return 2 * key


def test_the_least_recently_used_leaves_first() -> None:
    loaded: list[int] = []
    cache = BoundedCache(lambda key: loaded.append(key) or key, 2)  # type: ignore[func-returns-value]
    for key in (1, 2, 1, 3, 1, 2):
        assert cache.get(key) == key
    assert loaded == [1, 2, 3, 2]
    assert len(cache) == 2


def test_weights_count_and_the_newest_stays_however_heavy() -> None:
    cache = BoundedCache(double, 10, lambda value: value)
    cache.get(1)
    cache.get(2)
    assert len(cache) == 2
    cache.get(50)
    assert len(cache) == 1


def test_a_copy_is_empty_and_works() -> None:
    cache = BoundedCache(double, 3)
    cache.get(1)
    copy = pickle.loads(pickle.dumps(cache))
    assert len(copy) == 0
    assert copy.get(4) == 8


def test_a_value_that_many_threads_want_is_loaded_once() -> None:
    loaded: list[int] = []
    started = threading.Barrier(8)

    def load(key: int) -> int:
        loaded.append(key)
        return key

    cache = BoundedCache(load, 100)

    def work(_: int) -> list[int]:
        started.wait()
        return [cache.get(key) for key in range(50)]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [list(range(50))] * 8
    assert sorted(loaded) == list(range(50))


def test_a_failed_load_is_not_remembered() -> None:
    answers = iter([OSError("not yet"), 5])

    def load(key: int) -> int:
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    cache = BoundedCache(load, 1)
    with pytest.raises(OSError, match="not yet"):
        cache.get(0)
    assert cache.get(0) == 5
