"""Numbers of things in states."""

from typing import Any

from grain._src.errors import StateError
from grain._src.nodes.stream import field


def count(state: Any, name: str) -> int:
    """Returns state[name] if it is a number of things."""
    value: int = field(state, name, int)
    if value < 0:
        raise StateError(f"{name!r} in the state must be at least 0, got {value}")
    return value
