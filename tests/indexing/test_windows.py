"""Permutations within windows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grain._src.indexing.permutation import permute
from grain._src.indexing.windows import permute_in_window, permute_in_window_array


@given(st.integers(1, 300), st.integers(0, 2**32 - 1), st.integers(0, 50))
def test_every_window_is_permuted_within_itself(size, seed, window):
    indices = range(window * size, (window + 1) * size)
    assert sorted(permute_in_window(index, size, seed) for index in indices) == list(indices)


@given(st.integers(1, 10**6), st.integers(0, 2**32 - 1), st.lists(st.integers(-(10**15), 10**15), max_size=20))
def test_arrays_and_ints_agree(size, seed, indices):
    images = permute_in_window_array(np.array(indices, np.int64), size, seed)
    assert images.tolist() == [permute_in_window(index, size, seed) for index in indices]


def test_each_window_has_a_seed_of_its_own():
    assert permute_in_window(25, 10, seed=3) == 20 + permute(5, 9, seed=3 + 2)
    first = [permute_in_window(index, 100, 1) for index in range(100)]
    second = [permute_in_window(index, 100, 1) - 100 for index in range(100, 200)]
    assert first != second
