"""Mixtures: every prefix holds its share, arrays and ints agree, weights are checked."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grain._src.indexing.mixture import integer_weights, locate, locate_array, mixed_length

WEIGHTS = st.lists(st.integers(1, 10_000), min_size=1, max_size=8)


@given(WEIGHTS, st.lists(st.integers(-(10**6), 10**15), max_size=20))
def test_arrays_and_ints_agree(weights, ks):
    components, indices = locate_array(np.array(ks, np.int64), weights)
    assert list(zip(components.tolist(), indices.tolist(), strict=True)) == [locate(k, weights) for k in ks]


@given(st.lists(st.integers(1, 2**80), min_size=1, max_size=4), st.lists(st.integers(0, 10**15), max_size=20))
def test_arrays_and_ints_agree_for_weights_whose_products_do_not_fit_64_bits(weights, ks):
    components, indices = locate_array(np.array(ks, np.int64), weights)
    assert list(zip(components.tolist(), indices.tolist(), strict=True)) == [locate(k, weights) for k in ks]


@given(WEIGHTS, st.integers(1, 500))
def test_each_component_gives_its_elements_in_order_and_its_share_of_every_prefix(weights, count):
    taken = [0] * len(weights)
    for k in range(count):
        component, index = locate(k, weights)
        assert index == taken[component]
        taken[component] += 1
        for weight, many in zip(weights, taken, strict=True):
            assert abs(many - (k + 1) * weight / sum(weights)) < len(weights)


def test_a_far_element_is_found_without_those_before():
    weights = [1, 2, 3]
    component, index = locate(10**15, weights)
    assert abs(index - 10**15 * weights[component] / 6) < 3


def test_weights_are_hundredths_of_the_smallest():
    assert integer_weights([0.25, 0.75], 2) == (100, 300)
    assert integer_weights(None, 3) == (1, 1, 1)
    assert integer_weights([1, 3.999], 2) == (100, 399)


@pytest.mark.parametrize("weights", [[1.0, 0.0], [1, -1], [float("nan"), 1], [float("inf"), 1]])
def test_weights_that_are_not_positive_numbers_are_refused(weights):
    with pytest.raises(ValueError, match="weights must be positive and finite"):
        integer_weights(weights, 2)


@pytest.mark.parametrize("weights", [[1, 2**2000], [1e-300, 1e300]])
def test_weights_of_which_one_is_beyond_all_measure_are_refused(weights):
    with pytest.raises(ValueError, match="weights must not differ by more than a float can say"):
        integer_weights(weights, 2)


def test_one_weight_too_many_is_refused_with_both_numbers():
    with pytest.raises(ValueError, match="got 3 weights for 2 datasets"):
        integer_weights([1, 2, 3], 2)


def test_the_length_ends_with_the_first_component():
    assert mixed_length([10, 10], [1, 1]) == 20
    assert mixed_length([10, 1000], [100, 100]) == 20
    assert mixed_length([3, 9], [100, 200]) == 9
    assert mixed_length([sys.maxsize, sys.maxsize], [1, 1]) == sys.maxsize


@given(WEIGHTS, st.data())
def test_no_component_is_asked_for_more_than_it_has(weights, data):
    lengths = [data.draw(st.integers(1, 100)) for _ in weights]
    for k in range(min(300, mixed_length(lengths, weights))):
        component, index = locate(k, weights)
        assert index <= lengths[component]
