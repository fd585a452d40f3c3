"""Between a running iterator and the contents of a checkpoint file."""

from typing import Any, Protocol, runtime_checkable

from grain._src.checkpoint.envelope import Saved, encode
from grain._src.checkpoint.fingerprint import Fingerprint, changes, fingerprint
from grain._src.errors import CheckpointError, StateError
from grain._src.nodes.base import Node
from grain._src.nodes.elastic import is_shared
from grain._src.nodes.worker_states import merge_worker_states


@runtime_checkable
class Checkpointable(Protocol):
    """What can be saved: the iterators of this library, users' own, and whatever else has these two methods."""

    def get_state(self) -> Any:
        """Returns a JSON-ready dict, or bytes."""

    def set_state(self, state: Any) -> None:
        """Goes to where `state` was taken."""


def take(iterator: Checkpointable) -> bytes:
    """Returns the contents of a checkpoint file that means: go on right after what `iterator` has handed out."""
    if not isinstance(iterator, Checkpointable):
        raise TypeError(
            f"only an iterator with `get_state` and `set_state` can be saved, got {type(iterator).__name__}. "
            "For a dataset that is `iter(dataset)`, the very iterator that the training loop reads from."
        )
    node = _pipeline(iterator)
    shared = node is not None and is_shared(node)
    return encode(Saved(iterator.get_state(), _fingerprint(node), shared))


def put_back(iterator: Checkpointable, saved: Saved, where: str, allow_changes: bool = False) -> None:
    """Brings `iterator` to where `saved` was taken; if that fails it stays where it is."""
    if not isinstance(iterator, Checkpointable):
        raise TypeError(
            f"only an iterator with `get_state` and `set_state` can be restored, got {type(iterator).__name__}"
        )
    current = _fingerprint(_pipeline(iterator))
    if not allow_changes and saved.pipeline is not None and current is not None:
        said = changes(saved.pipeline, current)
        if said:
            raise CheckpointError(
                f"the pipeline is not the one that {where} was saved from: {'; '.join(said)}. Use that pipeline, or pass "
                "`allow_changes=True` to go on at the same position of this one."
            )
    before = iterator.get_state()
    state = saved.bare if saved.bare is not None and isinstance(before, bytes) else saved.state
    try:
        _set(iterator, state)
    except Exception as error:
        iterator.set_state(before)
        raise CheckpointError(f"the checkpoint {where} does not fit this pipeline: {error}") from error


def _set(iterator: Checkpointable, state: Any) -> None:
    try:
        iterator.set_state(state)
    except StateError:
        merged = merge_worker_states(state)
        if merged is None:
            raise
        iterator.set_state(merged)


def _pipeline(iterator: Any) -> Node | None:
    return getattr(iterator, "_pipeline", None)


def _fingerprint(node: Node | None) -> Fingerprint | None:
    return None if node is None else fingerprint(node)
