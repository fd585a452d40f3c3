"""What holds for each source of the library, whatever its format."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from grain import sources
from grain._src.conformance.equality import same
from grain._src.conformance.source import check_source

from .conftest import read_in_new_process


def test_it_passes_the_conformance_suite(source: Any) -> None:
    check_source(source)


def test_numpy_integers_and_arrays_are_indices_too(source: Any) -> None:
    last = len(source) - 1
    assert same(source[np.int64(last)], source[last])
    block = [last, 0, 0, last // 2]
    for indices in (np.array(block), np.array(block, np.uint8), tuple(block), map(np.int32, block)):
        assert same(source.__getitems__(indices), [source[index] for index in block])


def test_iterating_gives_the_elements_by_index(source: Any) -> None:
    assert same(list(source), [source[index] for index in range(len(source))])


def test_another_process_reads_the_same(source: Any) -> None:
    assert same(read_in_new_process(source), [source[index] for index in range(len(source))])


def test_it_can_be_pickled_before_and_after_use(source: Any) -> None:
    fresh = pickle.dumps(source)
    first = source[0]
    assert same(pickle.loads(fresh)[0], first)
    assert same(pickle.loads(pickle.dumps(source))[0], first)
    assert same(copy.deepcopy(source)[0], first)


def test_open_files_do_not_travel_in_a_pickle(source: Any) -> None:
    before = len(pickle.dumps(source))
    source.__getitems__(range(len(source)))
    assert len(pickle.dumps(source)) < before + 4000


def test_it_is_a_random_access_data_source(source: Any) -> None:
    assert isinstance(source, sources.RandomAccessDataSource)


def test_an_index_outside_is_an_error_with_index_and_length(source: Any) -> None:
    length = len(source)
    with pytest.raises(IndexError, match=rf"{length}.*{length}"):
        source[length]
    with pytest.raises(IndexError, match=rf"{length + 7}.*{length}"):
        source.__getitems__([0, length + 7])
    with pytest.raises(IndexError, match=rf"-{length + 1}.*{length}"):
        source[-length - 1]
    with pytest.raises(IndexError, match=rf"-1.*{length}"):
        source.__getitems__([-1])


@pytest.mark.parametrize("index", [1.0, "1", None, slice(0, 2), [1]])
def test_an_index_that_is_no_integer_is_refused(source: Any, index: Any) -> None:
    with pytest.raises(TypeError, match="must be an integer"):
        source[index]


@pytest.mark.parametrize("indices", [[0.5], ["0"], np.zeros((2, 2), int), [[0]]])
def test_indices_that_are_no_integers_are_refused(source: Any, indices: Any) -> None:
    with pytest.raises(TypeError, match="flat sequence of integers"):
        source.__getitems__(indices)


def test_changing_an_element_in_place_does_not_change_the_source(source: Any) -> None:
    def scribble(value: Any) -> None:
        if isinstance(value, np.ndarray) and not value.dtype.hasobject and value.size:
            value[...] = 1 - value
        elif isinstance(value, np.ndarray):
            for item in value:
                scribble(item)
        elif isinstance(value, dict):
            for item in value.values():
                scribble(item)
            value["scribble"] = True

    before = copy.deepcopy(source.__getitems__(range(len(source))))
    for element in source.__getitems__(range(len(source))):
        scribble(element)
    scribble(source[0])
    assert same(source.__getitems__(range(len(source))), before)
