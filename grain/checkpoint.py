"""Saving where an iterator is and going on from there: plain files, and Orbax.

`save` and `restore` need nothing else; the rest needs the package orbax-checkpoint and is loaded when it is used.
"""

from typing import TYPE_CHECKING, Any

from grain._src.checkpoint import lazy
from grain._src.checkpoint.files import restore, save
from grain._src.errors import CheckpointError

if TYPE_CHECKING:
    from grain._src.checkpoint.orbax import CheckpointHandler, CheckpointRestore, CheckpointSave

    OrbaxCheckpointHandler = CheckpointHandler

__all__ = [
    "CheckpointError",
    "CheckpointHandler",
    "CheckpointRestore",
    "CheckpointSave",
    "OrbaxCheckpointHandler",
    "restore",
    "save",
]


def __getattr__(name: str) -> Any:
    return lazy.orbax_name(name, __name__)
