"""Checks of a stream and its iterators."""

import copy
import json
from itertools import islice
from typing import Any

from grain._src.conformance.equality import same
from grain._src.conformance.resume import assert_equal_output_after_checkpoint


def check_iterator(dataset: Any, *, max_elements: int = 1000) -> None:
    """Raises AssertionError, saying what is wrong, unless iterators of `dataset` keep the promises of `DatasetIterator`.

    Results repeat, states are JSON and do not change under whoever holds them, looking at a state changes nothing, an
    iterator goes on from the state after any element, and an end stays an end.

    >>> import grain
    >>> check_iterator(grain.MapDataset.range(10).to_iter_dataset().filter(lambda x: x % 2).batch(2))
    """
    first, second = iter(dataset), iter(dataset)
    count = 0
    for position, element in enumerate(islice(first, max_elements)):
        count += 1
        state = second.get_state()
        try:
            json.dumps(state)
        except (TypeError, ValueError) as error:
            raise AssertionError(
                f"the state after {position} elements is not JSON: {state!r:.300} ({error})"
            ) from error
        kept = copy.deepcopy(state)
        again = next(second, _END)
        assert again is not _END, f"a second iterator ends after {position} elements, the first goes on"
        assert same(again, element), (
            f"element {position} differs from one iterator to the next: {element!r:.200}, then {again!r:.200}"
        )
        assert state == kept, (
            f"the state that was taken after {position} elements has changed since: {kept!r:.200} became {state!r:.200}. "
            "Return a new dict from get_state"
        )
    if count < max_elements:
        assert next(first, _END) is _END, "after its end the iterator gives elements again"
    assert_equal_output_after_checkpoint(dataset)


_END = object()
