"""Checks of a dataset with random access."""

import pickle
from itertools import islice
from typing import Any

import cloudpickle

from grain._src.conformance.equality import same


def check_dataset(dataset: Any, *, max_elements: int = 1000) -> None:
    """Raises AssertionError, saying what is wrong, unless `dataset` keeps the promises of a `MapDataset`.

    Random access agrees with iteration, results repeat, in any order, and a pickled copy gives the same elements.

    >>> import grain
    >>> check_dataset(grain.MapDataset.range(10).shuffle(seed=1).map(lambda x: x * 2))
    """
    length = len(dataset)
    assert isinstance(length, int) and length >= 0, f"len() must be an integer of at least 0, it is {length!r}"
    count = min(length, max_elements)
    elements = [dataset[index] for index in range(count)]
    for index in reversed(range(count)):
        again = dataset[index]
        assert same(again, elements[index]), (
            f"element {index} differs from one look-up to the next: {elements[index]!r:.200}, then {again!r:.200}. An "
            "element must depend on its index only: take random numbers from the generator of `random_map`"
        )
    present = [element for element in elements if element is not None]
    iterated = list(islice(iter(dataset), len(present)))
    assert same(iterated, present), (
        f"iteration does not agree with look-ups: it gives {iterated!r:.300}, look-ups give {present!r:.300}"
    )
    try:
        copy = pickle.loads(cloudpickle.dumps(dataset))
    except Exception as error:
        raise AssertionError(f"the dataset cannot be pickled, so workers cannot have it: {error!r}") from error
    assert len(copy) == length, f"a pickled copy has length {len(copy)}, the dataset {length}"
    for index in range(count):
        assert same(copy[index], elements[index]), f"element {index} of a pickled copy differs: {copy[index]!r:.200}"
