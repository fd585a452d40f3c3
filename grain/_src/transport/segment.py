"""Shared memory without a name: it is known by a descriptor only, so nothing stays behind, whoever is killed."""

import contextlib
import mmap
import os
import sys
from typing import Any, Literal

Backing = Literal["memfd", "file"]

# The mapping alone keeps the memory; before 3.13 an `mmap` object also holds a duplicate of the descriptor.
_UNTRACKED: dict[str, Any] = {"trackfd": False} if sys.version_info >= (3, 13) else {}


def default_backing() -> Backing:
    """The best kind of shared memory that this system has."""
    return "memfd" if hasattr(os, "memfd_create") else "file"


def create_descriptor(nbytes: int, backing: Backing | None = None) -> int:
    """Makes `nbytes` of zeroed shared memory and returns its descriptor; raises OSError where there is no room."""
    if (backing or default_backing()) == "memfd":
        try:
            fd = os.memfd_create("grain", os.MFD_CLOEXEC)
        except OSError:  # some sandboxes refuse the call
            return _create_file(nbytes)
        try:
            os.ftruncate(fd, nbytes)  # sparse: pages appear when they are first written
        except BaseException:
            os.close(fd)
            raise
        return fd
    return _create_file(nbytes)


def _create_file(nbytes: int) -> int:
    import tempfile  # takes as long to load as half of this package, and is hardly ever needed

    directory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    fd, path = tempfile.mkstemp(prefix="grain-", dir=directory)
    try:
        os.unlink(path)
        os.ftruncate(fd, nbytes)
        if hasattr(os, "posix_fallocate"):
            # A full file system must be an error now, not a SIGBUS when a page is first written.
            os.posix_fallocate(fd, 0, nbytes)
    except BaseException:
        os.close(fd)
        raise
    return fd


def map_shared(fd: int, nbytes: int) -> mmap.mmap:
    """Maps the memory so that both sides see what either writes."""
    return mmap.mmap(fd, nbytes, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ | mmap.PROT_WRITE, **_UNTRACKED)


def map_private(fd: int, nbytes: int) -> mmap.mmap:
    """Maps the memory copy-on-write: whoever writes gets pages of its own."""
    return mmap.mmap(fd, nbytes, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE, **_UNTRACKED)


def close_all(fds: tuple[int, ...]) -> None:
    """Closes descriptors; one that is closed already is no error."""
    for fd in fds:
        with contextlib.suppress(OSError):
            os.close(fd)
