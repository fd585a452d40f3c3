"""Checkpoints in plain files, written so that a crash leaves the previous one whole."""

import contextlib
import os
import secrets
from typing import TypeVar

from grain._src import arguments
from grain._src.checkpoint.envelope import decode
from grain._src.checkpoint.snapshot import Checkpointable, put_back, take
from grain._src.errors import CheckpointError

C = TypeVar("C", bound=Checkpointable)


def save(path: str | os.PathLike[str], iterator: Checkpointable) -> None:
    """Writes where `iterator` is to a file; whoever reads it sees the old contents or the new, never a part.

    >>> import grain, tempfile
    >>> ds = grain.MapDataset.range(10).shuffle(seed=1).to_iter_dataset()
    >>> it = iter(ds)
    >>> first = next(it)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     grain.checkpoint.save(f"{directory}/data.json", it)
    ...     again = grain.checkpoint.restore(f"{directory}/data.json", iter(ds))
    >>> next(again) == next(it)
    True
    """
    write_atomically(arguments.path("path", path), take(iterator))


def restore(path: str | os.PathLike[str], iterator: C, *, allow_changes: bool = False) -> C:
    """Brings `iterator` to where the one was that `save` wrote to `path`, and returns it.

    Args:
      path: the file.
      iterator: of the same pipeline; how many workers and threads run it does not matter.
      allow_changes: go on even if the pipeline gives other elements now than when it was saved.
    """
    arguments.flag("allow_changes", allow_changes)
    name = arguments.path("path", path)
    try:
        with open(name, "rb") as file:
            data = file.read()
    except OSError as error:
        raise CheckpointError(f"cannot read the checkpoint file {name}: {error.strerror or error}") from error
    put_back(iterator, decode(data, name), name, allow_changes)
    return iterator


def write_atomically(path: str, data: bytes) -> None:
    """Replaces the contents of `path` by `data`, on the disk and not only in its cache, or leaves it as it was."""
    directory, name = os.path.split(os.path.abspath(path))
    os.makedirs(directory, exist_ok=True)
    temporary = os.path.join(directory, f".{name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename is None:  # a full disk does not say of what
            error.filename = path
        raise
    _sync_directory(directory)


def _sync_directory(directory: str) -> None:
    # The new name is durable once its directory is; not every file system lets a directory be opened.
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
