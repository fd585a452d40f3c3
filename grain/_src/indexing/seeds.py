"""Seeds that random transformations derive from the seed nodes above them."""

from collections.abc import Sequence

import numpy as np


def derive_seed(contributions: Sequence[tuple[int, int]]) -> int:
    """Returns a 32-bit seed of (seed, distance) pairs, in the order they were found."""
    entropy = [number for pair in contributions for number in pair]
    return int(np.random.SeedSequence(entropy).generate_state(1, np.uint32)[0])
