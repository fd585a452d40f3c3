"""Numbers of things in states."""

from typing import Any

from grain._src.arguments import MAX_INDEX
from grain._src.errors import StateError
from grain._src.nodes.stream import field


def count(state: Any, name: str) -> int:
    """Returns state[name] if it is a number of things."""
    value: int = field(state, name, int)
    if value < 0:
        raise StateError(f"{name!r} in the state must be at least 0, got {value}")
    if value > MAX_INDEX:
        raise StateError(f"{name!r} in the state must be at most 2**63 - 1, got {value}")
    return value


def counts(state: Any, name: str) -> list[int]:
    """Returns state[name] if it is a list of numbers of things."""
    values: list[Any] = field(state, name, list)
    for value in values:
        count({name: value}, name)
    return values
