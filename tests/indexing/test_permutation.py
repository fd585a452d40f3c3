"""The permutation: a bijection, the same on arrays and on ints, the same as recorded, without memory."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grain._src.indexing.permutation import index_shuffle, permute, permute_array

SEEDS = st.integers(0, 2**32 - 1)


@given(st.integers(1, 5000), SEEDS)
def test_it_is_a_bijection(size, seed):
    images = permute_array(np.arange(size), size - 1, seed)
    assert sorted(images.tolist()) == list(range(size))


@pytest.mark.parametrize("size", [2**16 - 1, 2**16, 2**16 + 2, 2**17 + 3])
def test_it_is_a_bijection_around_the_smallest_block_of_bits(size):
    images = permute_array(np.arange(size), size - 1, 7)
    assert np.array_equal(np.sort(images), np.arange(size))


@pytest.mark.parametrize("bits", [16, 18, 24, 32])
def test_a_last_index_that_does_not_fit_the_block_is_taken_for_the_first_as_in_the_reference(bits):
    assert permute(2**bits, 2**bits, 3) == permute(0, 2**bits, 3)
    for count in (1, 20):  # few are taken one by one
        assert len(set(permute_array(np.array(count * [0, 2**bits]), 2**bits, 3).tolist())) == 1


@given(st.integers(0, 10**15), SEEDS, st.sampled_from([4, 6, 8]), st.data())
def test_arrays_and_ints_agree(max_index, seed, rounds, data):
    indices = data.draw(st.lists(st.integers(0, max_index), min_size=1, max_size=40))
    images = permute_array(np.array(indices), max_index, seed, rounds)
    assert images.dtype == np.int64
    assert images.tolist() == [permute(index, max_index, seed, rounds) for index in indices]
    assert all(0 <= image <= max_index for image in images.tolist())


@pytest.mark.parametrize("bits", range(15, 50))
def test_arrays_and_ints_agree_at_every_width(bits):
    for max_index in (2**bits - 1, 2**bits, 2**bits + 1):
        indices = np.array([0, 1, max_index // 3, max_index - 1, max_index])
        expected = [permute(int(index), max_index, 11) for index in indices]
        for count in (1, 4):  # few are taken one by one
            assert permute_array(np.tile(indices, count), max_index, 11).tolist() == count * expected
        assert len(set(expected)) == (4 if max_index == 2**bits and bits % 2 == 0 and bits > 15 else 5)


def test_order_does_not_depend_on_which_indices_are_asked_together():
    together = permute_array(np.arange(1000), 10**12, 3)
    apart = np.concatenate([permute_array(np.arange(a, a + 10), 10**12, 3) for a in range(0, 1000, 10)])
    assert np.array_equal(together, apart)


def test_a_single_index_stays():
    assert permute(0, 0, 5) == 0
    assert permute_array(np.zeros(3, np.int64), 0, 5).tolist() == [0, 0, 0]


# Results of the reference, release 0.2.18.
@pytest.mark.parametrize(
    ("max_index", "seed", "rounds", "expected"),
    [
        (1, 1, 8, [0, 1, 1, 0, 1]),
        (4, 0, 4, [0, 4, 1, 1, 3]),
        (99, 0, 6, [65, 56, 43, 54, 41]),
        (1000, 4294967295, 6, [409, 449, 119, 488, 469]),
        (65534, 4294967295, 4, [52300, 48421, 11881, 35135, 22771]),
        (65535, 0, 6, [61115, 37877, 3667, 30718, 8676]),
        (65536, 0, 6, [61115, 37877, 3667, 1659, 61115]),
        (1000000, 4294967295, 8, [708193, 981271, 204796, 242077, 799579]),
        (16777216, 0, 6, [5318509, 13884511, 12444893, 8341037, 5318509]),
        (2147483647, 42, 4, [1696202226, 1952184567, 1742288850, 1505484653, 669930129]),
        (4294967296, 12345, 4, [3007991168, 2719894136, 2745321090, 859983153, 3007991168]),
        (10000000000, 42, 4, [3859066753, 3301222416, 3276563747, 7513550507, 5272775516]),
        (10000000000000, 0, 4, [3843777638726, 6237955956032, 7443407083028, 2530318611027, 1959820317818]),
        (10**15, 12345, 4, [689825872039824, 698560761196163, 689693802824738, 268985680636832, 634638691509064]),
    ],
)
def test_results_are_those_of_the_reference(max_index, seed, rounds, expected):
    indices = [0, 1, min(2, max_index), max_index // 2, max_index]
    assert [index_shuffle(i, max_index=max_index, seed=seed, rounds=rounds) for i in indices] == expected


def test_a_petabyte_of_indices_takes_no_memory():
    permute(5, 10**15, 1)  # whatever is made once
    tracemalloc.start()
    try:
        assert len({permute(index, 10**15, 1) for index in range(100)}) == 100
        assert len(set(permute_array(np.arange(100), 10**15, 1).tolist())) == 100
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"index": 5, "max_index": 4, "seed": 0, "rounds": 4}, r"index must be between 0 and max_index \(4\), got 5"),
        ({"index": -1, "max_index": 4, "seed": 0, "rounds": 4}, "got -1"),
        (
            {"index": 1, "max_index": 4, "seed": 2**32, "rounds": 4},
            r"seed must be between 0 and 2\*\*32 - 1, got 4294967296",
        ),
        ({"index": 1, "max_index": 4, "seed": -1, "rounds": 4}, "seed must be"),
        ({"index": 1, "max_index": 4, "seed": 0, "rounds": 3}, "rounds must be an even number of at least 4, got 3"),
    ],
)
def test_arguments_out_of_range_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        index_shuffle(**arguments)
