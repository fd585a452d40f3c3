"""Derived seeds, and random generators by position."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grain._src.indexing import philox
from grain._src.indexing.philox import SeekablePhilox
from grain._src.indexing.rng import RngPool
from grain._src.indexing.seeds import derive_seed


def fresh(seed, index, op_seed=0):
    bits = np.random.Philox(seed)
    state = bits.state
    state["state"]["counter"] = np.array([0, 0, op_seed, index], np.uint64)
    state.update(buffer=np.zeros(4, np.uint64), buffer_pos=4, has_uint32=0, uinteger=0)
    bits.state = state
    return np.random.Generator(bits)


def test_a_derived_seed_is_the_first_word_of_its_seed_sequence():
    expected = np.random.SeedSequence([42, 1, 7, 3]).generate_state(1, np.uint32)[0]
    assert derive_seed([(42, 1), (7, 3)]) == int(expected)
    assert derive_seed([(42, 1)]) != derive_seed([(42, 2)])


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**63 - 1), st.integers(0, 2**32 - 1))
def test_a_generator_is_a_philox_at_its_counter(seed, index, op_seed):
    rng = RngPool(seed).acquire_rng(index, op_seed=op_seed)
    assert rng.integers(2**60, size=5).tolist() == fresh(seed, index, op_seed).integers(2**60, size=5).tolist()


def test_a_generator_that_was_used_before_starts_afresh():
    pool = RngPool(3)
    first = pool.acquire_rng(7)
    first.integers(10, dtype=np.uint8, size=3)  # leaves a half-used word behind
    expected = fresh(3, 8).integers(255, dtype=np.uint8, size=9).tolist()
    pool.release_rng(first)
    again = pool.acquire_rng(8)
    assert again is first
    assert again.integers(255, dtype=np.uint8, size=9).tolist() == expected


def test_generators_lent_at_the_same_time_are_apart():
    pool = RngPool(3)
    one, other = pool.acquire_rng(1), pool.acquire_rng(2)
    assert one is not other
    one.random()
    assert other.random() == fresh(3, 2).random()


def test_a_foreign_generator_given_back_is_ignored():
    pool = RngPool(3)
    pool.release_rng(np.random.default_rng(0))
    assert pool.acquire_rng(1).random() == fresh(3, 1).random()


def test_map_gives_each_element_its_own_generator_and_passes_holes():
    pool = RngPool(5)
    drawn = pool.map(lambda x, rng: (x, rng.random()), ["a", None, "b"], [10, 11, 12])
    assert list(drawn) == [("a", fresh(5, 10).random()), None, ("b", fresh(5, 12).random())]
    assert pool.call(lambda x, rng: rng.random(), "a", 10) == fresh(5, 10).random()


def test_maps_that_run_interleaved_do_not_disturb_each_other():
    pool = RngPool(5)
    streams = [pool.map(lambda x, rng: rng.random(), [1] * 4, range(start, start + 4)) for start in (0, 100)]
    interleaved = [[next(stream) for stream in streams] for _ in range(4)]
    assert interleaved == [[fresh(5, i).random(), fresh(5, 100 + i).random()] for i in range(4)]


def test_a_pool_pickles_as_its_seed():
    pool = RngPool(9)
    pool.acquire_rng(0)
    assert pickle.loads(pickle.dumps(pool)).acquire_rng(4).random() == fresh(9, 4).random()


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError, match="seed must be an integer of at least 0, got -1"):
        RngPool(-1)


WORDS = st.integers(0, 2**64 - 1)


@given(WORDS, WORDS, WORDS, WORDS, st.integers(0, 5))
def test_writing_to_the_memory_of_a_generator_is_setting_its_state(key, second, third, last, used):
    assert philox._layout_is_known()
    quick, plain = SeekablePhilox((key, second)), np.random.Philox(0)
    quick.generator.integers(255, dtype=np.uint8, size=used)
    quick.seek(key, third, last)
    philox._seek_by_state(plain, second)(key, third, last)
    assert str(quick.generator.bit_generator.state) == str(plain.state)
    numbers = np.random.Generator(plain).integers(2**60, size=6)
    assert quick.generator.integers(2**60, size=6).tolist() == numbers.tolist()


def test_another_layout_is_noticed_and_the_state_is_set_instead(monkeypatch):
    philox._layout_is_known.cache_clear()
    monkeypatch.setattr(philox, "_POINTERS_BYTES", 24)
    try:
        assert not philox._layout_is_known()
        assert RngPool(5).acquire_rng(9).random() == fresh(5, 9).random()
    finally:
        philox._layout_is_known.cache_clear()
