"""One checkpoint file a JAX process, in a directory that somebody else, such as Orbax, creates and commits."""

import sys
from collections.abc import Awaitable
from typing import Any

from grain._src.checkpoint.envelope import Saved, decode
from grain._src.checkpoint.snapshot import Checkpointable, put_back, take
from grain._src.errors import CheckpointError


def file_name() -> str:
    """Returns the name of this process's file."""
    # JAX is asked only where it runs already: without it there is one process.
    jax = sys.modules.get("jax")
    index, count = (jax.process_index(), jax.process_count()) if jax is not None else (0, 1)
    return f"process_{index}-of-{count}.json"


def read(directory: Any) -> tuple[Saved, str]:
    """Returns this process's checkpoint in `directory`, and its name.

    Of a run with another number of processes any file will do if its state is shared by all of them.
    """
    path = directory / file_name()
    if path.exists():
        return decode(path.read_bytes(), str(path)), str(path)
    others = sorted(directory.glob("process_*-of-*.json")) if directory.exists() else []
    if not others:
        raise CheckpointError(f"the checkpoint file {path} does not exist")
    saved = decode(others[0].read_bytes(), str(others[0]))
    if not saved.shared:
        raise CheckpointError(
            f"the checkpoint file {path} does not exist: {directory} was saved by another number of processes "
            f"({others[0].name}). Restore it with as many, or use grain.experimental.ElasticIterator, which goes on with "
            "any number."
        )
    return saved, str(others[0])


def write(directory: Any, data: bytes) -> None:
    """Writes this process's file; the directory is committed as a whole by who created it."""
    (directory / file_name()).write_bytes(data)


def load(directory: Any, iterator: Checkpointable, allow_changes: bool = False) -> None:
    """Brings `iterator` to where this process's was when `directory` was saved."""
    saved, where = read(directory)
    put_back(iterator, saved, where, allow_changes)


def save_when_created(iterator: Checkpointable, directory: Any) -> Awaitable[None]:
    """Takes the state now; the returned awaitable writes it once `directory` exists."""
    return _write_when_created(directory, take(iterator))


async def _write_when_created(directory: Any, data: bytes) -> None:
    created = await directory.await_creation() if hasattr(directory, "await_creation") else directory
    write(created, data)


async def load_later(iterator: Checkpointable, directory: Any) -> None:
    """Brings `iterator` to where this process's was, when it is awaited."""
    load(directory, iterator)
