"""Recorded results of the reference: the same pipelines give the same elements, lengths and kinds of errors here."""

import functools
import itertools
import json
import pathlib
import warnings
from typing import Any

import numpy as np
import pytest

import grain
import grain.constants
import grain.experimental
import grain.python
import grain.samplers
import grain.sharding
import grain.sources
import grain.transforms

# Types of errors that are accidents of how the reference is written: here they say something clearer, or it works.
ACCIDENT = "accident-"
# Where this library gives something else on purpose, and why.
ON_PURPOSE = {
    "error-state-wrong": "a state that does not fit is a StateError",
    "error-state-negative": "a state that does not fit is a StateError",
    "error-state-past": "a state that does not fit is a StateError",
    "map-numpy-index": "an element does not depend on the type of the index",
    "stack-dataclass": "dataclasses are containers, their fields are stacked",
    "error-repeat-too-long": "a length is cut at sys.maxsize, as for an endless dataset",
    "error-stack-mixed-keys": "dicts are stacked in their own order, so keys need not be sortable",
    "error-select-no-datasets": "refused at construction, with a ValueError",
    "error-abstract-map-dataset": "refused when it is used",
    "error-abstract-iter-dataset": "refused when it is used",
    "error-elastic-filter": "elastic iteration works with a filter too",
}

FILES = sorted(pathlib.Path(__file__).parent.glob("*.json"))


def plain(value: Any) -> Any:
    """An element as JSON, keeping dtype and shape."""
    match value:
        case np.ndarray():
            return {"array": str(value.dtype), "shape": list(value.shape), "data": plain(value.tolist())}
        case np.generic():
            return {"scalar": str(value.dtype), "data": plain(value.item())}
        case dict():
            return {"dict": {str(key): plain(inner) for key, inner in value.items()}}
        case tuple():
            return {"tuple": [plain(inner) for inner in value]}
        case list():
            return [plain(inner) for inner in value]
        case bytes():
            return {"bytes": value.hex()}
        case complex():
            return {"complex": [value.real, value.imag]}
        case None | bool() | int() | float() | str():
            return value
    return {"object": type(value).__name__}


def run(case: dict[str, Any]) -> dict[str, Any]:
    """What the case gives here, in the form in which it was recorded."""
    scope: dict[str, Any] = {"grain": grain, "np": np, "functools": functools, "itertools": itertools}
    try:
        exec(case.get("setup", ""), scope)
        value = eval(case["expr"], scope)
        if isinstance(value, list | tuple | int | str):
            return {"value": plain(value)}
        result: dict[str, Any] = {"len": len(value)} if isinstance(value, grain.MapDataset) else {}
        iterator = iter(value)
        result["elements"] = [plain(element) for element in itertools.islice(iterator, case["take"])]
        if hasattr(iterator, "close"):
            iterator.close()
        return result
    except Exception as error:
        kinds = [kind.__name__ for kind in type(error).__mro__]  # a kind of the error that was recorded is as good
        expected = case["expect"].get("error")
        return {"error": expected if expected in kinds[:-3] else kinds[0]}


def recorded() -> list[Any]:
    cases = [(file.stem, case) for file in FILES for case in json.loads(file.read_text())]
    return [
        pytest.param(case, id=f"{stem}-{case['name']}")
        for stem, case in cases
        if case["name"] not in ON_PURPOSE and not case["name"].startswith(ACCIDENT)
    ]


@pytest.mark.parametrize("case", recorded())
def test_gives_what_the_reference_gave(case: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert json.loads(json.dumps(run(case))) == case["expect"], case["expr"]
