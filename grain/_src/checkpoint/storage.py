"""What `DatasetIterator.save` and `load` go through; the rest of the checkpoints is loaded when they are called."""

import importlib
from collections.abc import Awaitable
from typing import Any

from grain._src.nodes.stream import DatasetIterator


class DirectoryStorage:
    """Saves into directories that Orbax creates, by its protocol for objects that save themselves."""

    def save(self, iterator: DatasetIterator[Any], directory: Any) -> Awaitable[None]:
        """Takes the state now; the returned awaitable writes it once the directory exists."""
        return _processes().save_when_created(iterator, directory)  # type: ignore[no-any-return]

    def load(self, iterator: DatasetIterator[Any], directory: Any) -> Awaitable[None]:
        """Returns an awaitable that restores the state."""
        return _processes().load_later(iterator, directory)  # type: ignore[no-any-return]


def _processes() -> Any:
    return importlib.import_module("grain._src.checkpoint.processes")
