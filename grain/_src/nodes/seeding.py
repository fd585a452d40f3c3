"""Where a random transformation without a seed of its own finds one."""

from collections import deque
from collections.abc import Sequence
from typing import Any

from grain._src import arguments
from grain._src.indexing.seeds import derive_seed
from grain._src.nodes.base import Node


def resolve_seed(seed: Any, parents: Sequence[Node], name: str) -> int:
    """Returns `seed`, or one derived from the nearest seed nodes above the new transformation `name`.

    NumPy's generators take seeds of any size, the permutation of `shuffle` only 32 bits.
    """
    if seed is not None:
        return arguments.seed("seed", seed) if name == "shuffle" else arguments.non_negative("seed", seed)
    contributions = []
    waiting = deque((parent, 1) for parent in parents)
    while waiting:
        node, depth = waiting.popleft()
        own = getattr(node, "seed", None) if node.name == "seed" else None
        if own is not None:
            contributions.append((own, depth))
        else:
            waiting.extend((parent, depth + 1) for parent in node.parents)
    if not contributions:
        raise ValueError(
            f"`{name}` needs a seed: pass `seed=…` to `{name}`, or call `ds.seed(…)` before it to seed the whole pipeline."
        )
    return derive_seed(contributions)
