"""A pseudo-random permutation of 0…max_index that needs no memory: a cycle-walking block cipher.

The value is encrypted by a small Simon-like Feistel cipher whose block is at least 16 bits; while the result lies past
`max_index` it is encrypted again. The same arithmetic stands here in two forms, on int64 arrays and on plain ints.
"""

import functools
import math
from typing import Any, TypeAlias

import numpy as np

from grain._src import arguments

IndexArray: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]  # `numpy.typing` takes as long to load as this module

_MIN_BITS = 16
_MASK32 = 0xFFFFFFFF
_TABLE_BITS = 16  # so wide are words of which there is a table, of 128 KB at the most
_FEW = 12  # values that are taken one by one: short arrays cost more


def _seed_sequence(seed: int, count: int) -> list[int]:
    """Returns what C++'s `std::seed_seq{seed}` generates: `count` 32-bit words."""
    words = [0x8B8B8B8B] * count
    spread = 11 if count >= 623 else 7 if count >= 68 else 5 if count >= 39 else 3 if count >= 7 else (count - 1) // 2
    p = (count - spread) // 2
    q = p + spread
    steps = max(2, count)
    for k in range(steps):
        mixed = words[k % count] ^ words[(k + p) % count] ^ words[(k - 1) % count]
        r1 = 1664525 * (mixed ^ (mixed >> 27)) & _MASK32
        r2 = (r1 + (1 if k == 0 else k % count + (seed if k == 1 else 0))) & _MASK32
        words[(k + p) % count] = (words[(k + p) % count] + r1) & _MASK32
        words[(k + q) % count] = (words[(k + q) % count] + r2) & _MASK32
        words[k % count] = r2
    for k in range(steps, steps + count):
        mixed = (words[k % count] + words[(k + p) % count] + words[(k - 1) % count]) & _MASK32
        r3 = 1566083941 * (mixed ^ (mixed >> 27)) & _MASK32
        r4 = (r3 - k % count) & _MASK32
        words[(k + p) % count] ^= r3
        words[(k + q) % count] ^= r4
        words[k % count] = r4
    return words


@functools.lru_cache(maxsize=256)
def _round_keys(seed: int, rounds: int, word_bits: int) -> tuple[int, ...]:
    mask = (1 << word_bits) - 1
    return tuple(key & mask for key in _seed_sequence(seed, rounds))


def _word_bits(max_index: int) -> int:
    """Returns the width of a word; a `max_index` of 2**(2 * width), or from 2**50 on some more, does not fit.

    It is rounded as the reference rounds it, which takes those past the block for the first ones; and so do we.
    """
    return (max(_MIN_BITS, math.ceil(math.log2(max_index))) + 1) // 2


@functools.cache
def _shifts(bits: int, lane: type[Any]) -> tuple[Any, ...]:
    """How far a word is rotated, to the left and to the right, and what is left of it then."""
    return tuple(map(lane, (1, 2, 8 % bits, bits - 1, bits - 2, bits - 8 % bits, (1 << bits) - 1)))


def _mix(word: np.ndarray[Any, Any], bits: int) -> np.ndarray[Any, Any]:
    """Returns what a Feistel step folds into the other word, but for the key; in lanes 8 bits wider than the words."""
    r1, r2, r8, l1, l2, l8, mask = _shifts(bits, word.dtype.type)
    mixed: np.ndarray[Any, Any] = ((word << r1) | (word >> l1)) & ((word << r8) | (word >> l8))
    mixed ^= (word << r2) | (word >> l2)
    mixed &= mask
    return mixed


@functools.cache
def _mixed(bits: int) -> np.ndarray[Any, np.dtype[np.uint16]]:
    """The same for every word: looking it up is one operation on an array, not ten."""
    return _mix(np.arange(1 << bits, dtype=np.uint32), bits).astype(np.uint16)


def _encrypt_array(values: np.ndarray[Any, Any], keys: tuple[int, ...], bits: int) -> np.ndarray[Any, Any]:
    """Encrypts values of 2 * `bits` bits, which may be signed if they fit into 32."""
    lane = values.dtype.type
    table = _mixed(bits) if bits <= _TABLE_BITS else None
    left: np.ndarray[Any, Any] = values >> lane(bits)
    right: np.ndarray[Any, Any] = values & lane((1 << bits) - 1)
    for key in keys:
        # One Feistel step: the other word, mixed, is folded in; then the words change places.
        left ^= _mix(right, bits) if table is None else table.take(right, mode="clip")
        left ^= lane(key)
        left, right = right, left
    if len(keys) % 2:
        left, right = right, left
    left <<= lane(bits)
    left |= right
    return left


def _encrypt(value: int, keys: tuple[int, ...], bits: int) -> int:
    mask = (1 << bits) - 1
    left, right = value >> bits, value & mask
    eight = 8 % bits
    for key in keys:
        mixed = ((right << 1) | (right >> (bits - 1))) & ((right << eight) | (right >> (bits - eight)))
        mixed ^= ((right << 2) | (right >> (bits - 2))) ^ key
        left, right = right, left ^ (mixed & mask)
    if len(keys) % 2:
        left, right = right, left
    return (left << bits) | right


def _walk(value: int, max_index: int, keys: tuple[int, ...], bits: int) -> int:
    """Encrypts once, and again until the value is inside."""
    value = _encrypt(value, keys, bits)
    while value > max_index:
        value = _encrypt(value, keys, bits)
    return value


@functools.lru_cache(maxsize=256)  # of at most 128 KB each: a mixture may shuffle many datasets by turns
def _small_table(max_index: int, seed: int, rounds: int) -> np.ndarray[Any, np.dtype[np.uint16]]:
    """The whole permutation of a domain that fits the smallest block, where walking would take many steps.

    The block has two words of one byte, so all of its 65,536 values are encrypted at once in byte arrays, where shifts cut
    off what a rotation brings back (and a rotation by 8 changes nothing).
    """
    word = np.arange(256, dtype=np.uint8)
    left: Any = np.repeat(word, 256)
    right: Any = np.tile(word, 256)
    for key in _round_keys(seed, rounds, _MIN_BITS // 2):
        mixed = ((right << 1) | (right >> 7)) & right
        mixed ^= (right << 2) | (right >> 6)
        mixed ^= np.uint8(key)
        mixed ^= left
        left, right = right, mixed
    if rounds % 2:
        left, right = right, left
    step: IndexArray = (left.astype(np.int64) << 8) | right
    inside = min(max_index + 1, 1 << _MIN_BITS)
    result = step[:inside].copy()
    step[:inside] = np.arange(inside)  # inside: stay; outside: walk on
    # Each doubling takes twice as many steps at once; the last 16 to 32 are cheaper taken one by one.
    for _ in range(max(0, ((1 << _MIN_BITS) // inside).bit_length() - 5)):
        step = step.take(step, mode="clip")
    while result.max() > max_index:
        result = step.take(result, mode="clip")
    return result.astype(np.uint16)


def permute_array(indices: IndexArray, max_index: int, seed: int, rounds: int = 4) -> IndexArray:
    """Returns the images of `indices` (each within 0…max_index)."""
    if max_index == 0:
        return np.zeros_like(indices)
    bits = _word_bits(max_index)
    if max_index >> (2 * bits):
        indices = indices & ((1 << (2 * bits)) - 1)
    if bits == _MIN_BITS // 2:
        return _small_table(max_index, seed, rounds)[indices].astype(np.int64)
    keys = _round_keys(seed, rounds, bits)
    if len(indices) <= _FEW:
        images = [_walk(index, max_index, keys, bits) for index in indices.tolist()]
        return np.array(images, np.int64)
    values = _encrypt_array(indices if bits <= _TABLE_BITS else indices.astype(np.uint64), keys, bits)
    outside = (values > max_index).nonzero()[0]
    walking = values.take(outside)
    while len(outside) > _FEW:
        values[outside] = walking = _encrypt_array(walking, keys, bits)
        going = (walking > max_index).nonzero()[0]
        outside, walking = outside.take(going), walking.take(going)
    for where, value in zip(outside.tolist(), walking.tolist(), strict=True):
        values[where] = _walk(value, max_index, keys, bits)
    return values.astype(np.int64, copy=False)


def permute(index: int, max_index: int, seed: int, rounds: int = 4) -> int:
    """Returns the image of `index`, a plain int within 0…max_index."""
    if max_index == 0:
        return 0
    bits = _word_bits(max_index)
    index &= (1 << (2 * bits)) - 1
    if bits == _MIN_BITS // 2:
        return int(_small_table(max_index, seed, rounds)[index])
    return _walk(index, max_index, _round_keys(seed, rounds, bits), bits)


def index_shuffle(index: int, max_index: int, seed: int, rounds: int) -> int:
    """Returns where a pseudo-random permutation of 0…`max_index` sends `index`.

    >>> sorted(index_shuffle(i, max_index=4, seed=1, rounds=4) for i in range(5))
    [0, 1, 2, 3, 4]
    """
    index, max_index = arguments.integer("index", index), arguments.integer("max_index", max_index)
    seed, rounds = arguments.integer("seed", seed), arguments.integer("rounds", rounds)
    if not 0 <= index <= max_index:
        raise ValueError(f"index must be between 0 and max_index ({max_index}), got {index}")
    if not 0 <= seed <= _MASK32:
        raise ValueError(f"seed must be between 0 and 2**32 - 1, got {seed}")
    if rounds < 4 or rounds % 2:
        raise ValueError(f"rounds must be an even number of at least 4, got {rounds}")
    return permute(index, max_index, seed, rounds)
