"""Checkpoints with Orbax: iterators beside the model, in its managers and checkpointers."""

import dataclasses
from collections.abc import Coroutine
from typing import Any

from grain._src.arguments import flag
from grain._src.checkpoint import processes
from grain._src.checkpoint.snapshot import take

try:
    import orbax.checkpoint as ocp
    from orbax.checkpoint import future
except ImportError as error:
    raise ImportError(
        "grain.checkpoint.CheckpointHandler, CheckpointSave and CheckpointRestore need the package 'orbax-checkpoint': "
        "pip install orbax-checkpoint. grain.checkpoint.save and restore write plain files without it.",
        name=error.name,
    ) from error


class CheckpointHandler(ocp.AsyncCheckpointHandler):  # type: ignore[misc]
    """Saves and restores the iterators of this library, one file a JAX process.

    The state is taken when `save` is called; the file may be written in the background.
    """

    async def async_save(self, directory: Any, item: Any = None, args: Any = None) -> list[Any]:
        """Takes the state now and returns the future of the file."""
        data = take(_item(item, args))
        return [future.CommitFutureAwaitingContractedSignals(_write(directory, data), name="grain_save")]

    def save(self, directory: Any, item: Any = None, args: Any = None) -> None:
        """Writes the state of `args.item`."""
        processes.write(directory, take(_item(item, args)))

    def restore(self, directory: Any, item: Any = None, args: Any = None) -> Any:
        """Brings `args.item` to the saved state and returns it."""
        iterator = _item(item, args)
        processes.load(directory, iterator, getattr(args, "allow_changes", False))
        return iterator

    def structure(self, directory: Any) -> Any:
        """Nothing is known of an iterator without the iterator."""
        del directory

    def metadata(self, directory: Any) -> Any:
        """Nothing is known of an iterator without the iterator."""
        del directory

    def finalize(self, directory: Any) -> None:
        """There is nothing left to do."""

    @classmethod
    def typestr(cls) -> str:
        """The name by which Orbax remembers who wrote an item."""
        return "grain.checkpoint.CheckpointHandler"


def _write(directory: Any, data: bytes) -> Coroutine[Any, Any, None]:
    async def write() -> None:
        processes.write(directory, data)

    return write()


def _item(item: Any, args: Any) -> Any:
    found = args.item if args is not None else item
    if found is None:
        raise ValueError("an iterator is needed: args=grain.checkpoint.CheckpointSave(iterator), or …Restore(iterator)")
    return found


@ocp.args.register_with_handler(CheckpointHandler, for_save=True)  # type: ignore[untyped-decorator, unused-ignore]
@dataclasses.dataclass
class CheckpointSave(ocp.args.CheckpointArgs):  # type: ignore[misc]
    """What to save: `manager.save(step, args=CheckpointSave(iterator))`."""

    item: Any


@ocp.args.register_with_handler(CheckpointHandler, for_restore=True)  # type: ignore[untyped-decorator, unused-ignore]
@dataclasses.dataclass
class CheckpointRestore(ocp.args.CheckpointArgs):  # type: ignore[misc]
    """What to restore: `manager.restore(step, args=CheckpointRestore(iterator))`, which returns the iterator.

    Args:
      item: an iterator of the pipeline that was saved.
      allow_changes: go on even if the pipeline gives other elements now than when it was saved.
    """

    item: Any
    allow_changes: bool = False

    def __post_init__(self) -> None:
        flag("allow_changes", self.allow_changes)
