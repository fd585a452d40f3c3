"""Checks that a dataset goes on after a checkpoint as if it had never stopped."""

import json
from itertools import islice
from typing import Any

from grain._src.conformance.equality import same

MOST_ELEMENTS = 1000
_MOST_RESTORES = 100
_LOOK_AHEAD = 10


def assert_equal_output_after_checkpoint(ds: Any) -> None:
    """Raises AssertionError if an iterator of `ds` restored from a state gives other elements than the one it is of.

    States make the way through JSON. At most the first 1,000 elements and 100 positions among them are looked at.

    >>> import grain
    >>> assert_equal_output_after_checkpoint(grain.MapDataset.range(10).shuffle(seed=1).to_iter_dataset().batch(3))
    """
    iterator = iter(ds)
    states, elements = [_saved(iterator)], []
    for element in islice(iterator, MOST_ELEMENTS):
        elements.append(element)
        states.append(_saved(iterator))
    if not elements:
        raise AssertionError("the dataset did not produce any elements")
    step = -(-len(states) // _MOST_RESTORES)
    for position in [*range(0, len(states), step), len(states) - 1]:
        restored = iter(ds)
        restored.set_state(json.loads(states[position]))
        expected = elements[position : position + _LOOK_AHEAD]
        given = list(islice(restored, len(expected) if len(elements) == MOST_ELEMENTS else _LOOK_AHEAD))
        if not same(given, expected):
            raise AssertionError(
                f"restored after {position} elements from {states[position]} it goes on with {given!r:.500}, "
                f"not with {expected!r:.500}"
            )


def _saved(iterator: Any) -> str:
    return json.dumps(iterator.get_state())
