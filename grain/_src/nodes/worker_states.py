"""States of the original library's `mp_prefetch`, one a worker, as a position of the whole.

Its worker w of W gives the elements w, w + W, w + 2W, …, and the workers take turns. What they have read is a position
of ours where it is a beginning of the whole, without gaps.
"""

from itertools import pairwise
from typing import Any

from grain._src.errors import StateError

_COUNTERS = ("index_for_rng", "counter")


def merge_worker_states(state: Any) -> dict[str, Any] | None:
    """Returns the state of one stream for the states of workers; None if `state` is none of those.

    >>> merge_worker_states({"iterators_in_use_indices": [0, 1], "iterators_in_use_states": [{"next_index": 2}, {"next_index": 1}]})
    {'next_index': 3}
    """
    if not isinstance(state, dict) or "iterators_in_use_states" not in state:
        return None
    states, workers = state["iterators_in_use_states"], state.get("iterators_in_use_indices")
    if not isinstance(states, list) or not states or workers != list(range(len(states))):
        raise StateError(
            f"the state is of workers {workers!r} with {states!r:.200}, which is no state of `mp_prefetch`"
        )
    return _merge(states)


def _merge(states: list[Any]) -> dict[str, Any]:
    keys = set(states[0]) if isinstance(states[0], dict) else set()
    if all(isinstance(own, dict) and set(own) == keys for own in states):
        if keys == {"next_index"}:
            return {"next_index": _position([own["next_index"] for own in states])}
        counter = next((name for name in _COUNTERS if keys == {"parent", name}), None)
        if counter is not None:
            return {"parent": _merge([own["parent"] for own in states]), counter: sum(own[counter] for own in states)}
    raise StateError(
        f"the states of {len(states)} workers do not say where the whole pipeline is, because its steps ran in each worker "
        f"on its own: {states!r:.200}"
    )


def _position(counts: list[int]) -> int:
    if any(a < b for a, b in pairwise(counts)) or counts[0] - counts[-1] > 1:
        raise StateError(
            f"{len(counts)} workers have read {counts} elements of their parts: some elements after those that were "
            "skipped are seen already, so there is no one position. Take the checkpoint after a round of all workers, or "
            "without workers."
        )
    return sum(counts)
