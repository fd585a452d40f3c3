"""Permutations within consecutive windows of indices."""

import numpy as np

from grain._src.indexing.permutation import IndexArray, permute, permute_array

_SEEDS = 2**32


def permute_in_window(index: int, window_size: int, seed: int) -> int:
    """Returns where `index` goes within its window; window w is permuted with seed + w."""
    window, offset = divmod(index, window_size)
    return window * window_size + permute(offset, window_size - 1, (seed + window) % _SEEDS)


def permute_in_window_array(indices: IndexArray, window_size: int, seed: int) -> IndexArray:
    """`permute_in_window` for each of `indices`."""
    windows, offsets = np.divmod(indices, window_size)
    images = np.empty_like(indices)
    for window in np.unique(windows).tolist():
        mine = windows == window
        images[mine] = permute_array(offsets[mine], window_size - 1, (seed + window) % _SEEDS)
    return windows * window_size + images
