"""Checks that a source keeps what pipelines rely on."""

import pickle
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cloudpickle
import numpy as np

from grain._src.conformance.equality import same

_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+|\b0x[0-9a-fA-F]{6,}")
_THREADS = 8


def check_source(source: Any, *, max_elements: int = 1000) -> None:
    """Raises AssertionError, saying what is wrong, unless `source` can be shuffled, resumed and sent to workers.

    It reads up to `max_elements` elements, spread over the whole source, several times: one by one forwards and in
    another order, in blocks, from threads and through a pickled copy, and compares. Indices outside must be refused,
    and the `repr` must be the same for a copy.

    >>> check_source([1, 2, 3])
    """
    length = len(source)
    assert isinstance(length, int), f"len(source) must be an int, got {length!r}"
    assert len(source) == length, f"len(source) changed from {length} to {len(source)} without a reason"
    count = min(length, max_elements)
    keys = sorted({int(key) for key in np.linspace(0, max(length - 1, 0), count)}) if count else []
    expected = [source[key] for key in keys]

    for key, element in zip(keys, expected, strict=True):
        assert element is not None, f"source[{key}] is None, which pipelines take for a filtered element"
    order = np.random.default_rng(0).permutation(len(keys)).tolist()
    _compare("read again in another order", source.__getitem__, keys, expected, order)
    _check_blocks(source, keys, expected, order)
    _check_threads(source, keys, expected, order)
    _check_refusals(source, length)
    _check_copy(source, keys, expected, order, length)


def _compare(how: str, read: Callable[[int], Any], keys: list[int], expected: list[Any], order: list[int]) -> None:
    for place in order:
        again = read(keys[place])
        assert same(again, expected[place]), (
            f"element {keys[place]} differs when {how}: first {expected[place]!r:.200}, then {again!r:.200}"
        )


def _check_blocks(source: Any, keys: list[int], expected: list[Any], order: list[int]) -> None:
    batched = getattr(source, "__getitems__", None)
    if batched is None:
        return
    assert len(batched([])) == 0, f"__getitems__([]) must return an empty list, got {batched([])!r:.200}"
    twice = order + order[:3]
    wanted = [keys[place] for place in twice]
    found = batched(wanted)
    assert isinstance(found, list), f"__getitems__ must return a list, got {type(found).__name__}"
    assert len(found) == len(wanted), f"__getitems__ of {len(wanted)} indices returned {len(found)} elements"
    for place, element in zip(twice, found, strict=True):
        assert same(element, expected[place]), (
            f"__getitems__ and __getitem__ differ at {keys[place]}: {element!r:.200} and {expected[place]!r:.200}"
        )


def _check_threads(source: Any, keys: list[int], expected: list[Any], order: list[int]) -> None:
    batched = getattr(source, "__getitems__", None)

    def read(offset: int) -> None:
        mine = order[offset:] + order[:offset]
        _compare("read from threads", source.__getitem__, keys, expected, mine)
        if batched is not None and mine:
            found = batched([keys[place] for place in mine])
            for place, element in zip(mine, found, strict=True):
                assert same(element, expected[place]), f"element {keys[place]} differs when read from threads in blocks"

    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(read, range(0, len(order), max(1, len(order) // _THREADS))))


def _check_refusals(source: Any, length: int) -> None:
    for index in (length, length + 1, -length - 1, 2**40 + length):
        _must_refuse(f"source[{index}]", lambda index=index: source[index], length)  # type: ignore[misc]
        if (batched := getattr(source, "__getitems__", None)) is not None:
            _must_refuse(f"__getitems__([{index}])", lambda index=index: batched([index]), length)  # type: ignore[misc]


def _must_refuse(what: str, read: Callable[[], Any], length: int) -> None:
    try:
        element = read()
    except IndexError:
        return
    except Exception as error:
        raise AssertionError(
            f"{what} of a source of length {length} must raise IndexError, raised {error!r}"
        ) from error
    raise AssertionError(f"{what} of a source of length {length} must raise IndexError, gave {element!r:.200}")


def _check_copy(source: Any, keys: list[int], expected: list[Any], order: list[int], length: int) -> None:
    text = repr(source)
    assert not _ADDRESS.search(text), f"repr(source) must not hold an address, which changes from run to run: {text}"
    try:
        copy = pickle.loads(cloudpickle.dumps(source))
    except Exception as error:
        raise AssertionError(f"the source cannot be pickled, so workers cannot have it: {error!r}") from error
    assert len(copy) == length, f"a pickled copy has length {len(copy)}, the source {length}"
    assert repr(copy) == text, f"a pickled copy has another repr: {copy!r}, the source {text}"
    _compare("read from a pickled copy", copy.__getitem__, keys, expected, order)
