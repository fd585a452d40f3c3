"""The one place through which sources reach files: expand names, ask for size and time, map, open, write atomically.

Only local files are reached today. Everything else in sources/ goes through these functions, so another kind of
storage needs no change outside this file.
"""

import contextlib
import difflib
import glob
import hashlib
import io
import mmap
import os
import secrets
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from grain._src import arguments

PathLike: TypeAlias = str | os.PathLike[str]
Paths: TypeAlias = PathLike | Sequence[PathLike]
FileBytes: TypeAlias = mmap.mmap | bytes

_WILDCARDS = frozenset("*?[")


class Stamp(NamedTuple):
    """What tells one version of a file from another without reading it."""

    size: int
    mtime_ns: int


def open_limit() -> int:
    """Returns how many files one source may keep open: a part of what the process may, so that there can be several."""
    try:
        import resource  # not on Windows
    except ImportError:
        return 128
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 4096 if soft == resource.RLIM_INFINITY else max(16, min(soft // 4, 4096))


def expand(paths: Paths) -> list[str]:
    """Returns the names of existing files; patterns such as "train-*.parquet" give their matches in sorted order."""
    return [name for path in listed(paths) for name in expand_one(path)]


def listed(paths: Any, kinds: tuple[type, ...] = (str, os.PathLike), said: str = "a path, a pattern") -> Sequence[Any]:
    """Returns one or several of `kinds`, which the message calls `said`, as a sequence."""
    if isinstance(paths, kinds):
        return [paths]
    if isinstance(paths, bytes) or not isinstance(paths, Sequence):
        raise TypeError(f"paths must be {said} or a sequence of these, got {paths!r:.200}")
    if not paths:
        raise ValueError("paths must name at least one file, got an empty sequence")
    return paths


def only(path: PathLike, instead: str) -> str:
    """Returns the one file that a path or pattern names; the message says what to do `instead` of naming several."""
    if isinstance(path, Sequence) and not isinstance(path, (str, bytes)):
        raise TypeError(f"path must name one file, got {path!r:.200}: {instead}")
    name, *others = expand_one(path)
    if others:
        raise ValueError(f"path must name one file, {path!r} matches {1 + len(others)}: {instead}")
    return name


def expand_one(path: PathLike) -> list[str]:
    """Returns the files that one path or pattern names; a file whose name has a wildcard in it is taken literally."""
    name = local(path)
    if os.path.isdir(name):
        raise IsADirectoryError(
            f"{name!r} is a folder, not a file: name the files in it, as {os.path.join(name, '*')!r}"
        )
    if os.path.exists(name):
        return [name]
    if not _WILDCARDS.isdisjoint(name):
        if matches := sorted(match for match in glob.glob(name) if not os.path.isdir(match)):
            return matches
        raise FileNotFoundError(f"no file matches {name!r}: {_what_is_there(name)}")
    raise FileNotFoundError(f"no such file: {name!r}: {_what_is_there(name)}")


def _what_is_there(name: str) -> str:
    """Says where the search for a missing file ended: the folder that is missing, or what the last one holds."""
    folder = os.path.dirname(os.path.abspath(name))
    missing = folder
    while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
        missing, folder = folder, os.path.dirname(folder)
    if missing != folder:
        return f"there is no folder {missing!r}. Check the path; relative ones start at {os.getcwd()!r}"
    names = sorted(os.listdir(folder))
    close = difflib.get_close_matches(os.path.basename(name), names, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(map(repr, close))} in {folder!r}?"
    return f"none of the {len(names)} files in {folder!r} has a name like that"


def describe(paths: Sequence[str]) -> str:
    """Returns the names as short text that tells any two lists apart, for the `repr` of a source."""
    if len(paths) <= 3:
        return repr(list(paths))
    digest = hashlib.sha1("\0".join(paths).encode()).hexdigest()[:16]
    return f"[{paths[0]!r}, and {len(paths) - 1} more with hash {digest}]"


def local(path: PathLike) -> str:
    """Returns `path` as text; an address of an object store is refused here rather than taken for a file name."""
    name = arguments.path("a path", path)
    if "://" in name:
        raise ValueError(f"only local files are supported, got {name!r}: copy or mount it first")
    return name


def stamp(path: str) -> Stamp:
    """Returns the size and the time of the last change."""
    status = os.stat(path)
    return Stamp(status.st_size, status.st_mtime_ns)


def map_file(path: str) -> FileBytes:
    """Returns the bytes of a file without reading them: pages come in as they are touched."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def open_stream(path: str) -> BinaryIO:
    """Opens a file for reading from front to back in large pieces."""
    return io.BufferedReader(io.FileIO(path), buffer_size=1 << 20)


@contextlib.contextmanager
def temporary_beside(path: str) -> Iterator[str]:
    """Yields a name for a file in the directory of `path`; what is still there at the end is removed."""
    name = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{secrets.token_hex(4)}.tmp")
    try:
        yield name
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


@contextlib.contextmanager
def replace_together(paths: Sequence[str]) -> Iterator[list[str]]:
    """Yields a temporary name beside each path; on success they take the paths' places, else nothing is left behind."""
    with contextlib.ExitStack() as stack:
        temporary = [stack.enter_context(temporary_beside(path)) for path in paths]
        yield temporary
        for source, target in zip(temporary, paths, strict=True):
            os.replace(source, target)
