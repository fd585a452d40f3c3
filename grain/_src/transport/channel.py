"""Frames over a stream socket: a small pickled message, a body of bytes, and descriptors.

Nothing here blocks unless it is asked to, and then it goes on reading while it waits to write: two ends that send each
other frames larger than the socket's buffers always finish.
"""

import _socket as socket  # all that is used here; `socket`, around it, takes longer to load than the rest of this
import array
import contextlib
import os
import pickle
import select
import struct
from collections import deque
from collections.abc import Sequence
from itertools import islice
from time import monotonic
from typing import Any, NamedTuple

from grain._src.transport.segment import close_all

_PREFIX = struct.Struct("<IIQ")  # bytes of the message, descriptors, bytes of the body
_READ_BYTES = 64 << 10
_MAX_PARTS = 64  # parts of one `sendmsg`, well below the system's limit
_MAX_FDS = 64
_ANCILLARY_BYTES = socket.CMSG_SPACE(_MAX_FDS * array.array("i").itemsize)
_RECV_FLAGS = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
_SEND_FLAGS = getattr(socket, "MSG_NOSIGNAL", 0)
_BUFFER_BYTES = 1 << 20
_SMALL_BYTES = 4 << 10  # bodies that are copied rather than sent as a part of their own


class ChannelClosed(ConnectionError):
    """The other end is gone, or this end was closed."""


class Frame(NamedTuple):
    """What one `send` sent."""

    message: Any
    body: bytes | memoryview
    fds: tuple[int, ...]  # they belong to the receiver, who closes them


def channel_pair() -> tuple["Channel", socket.socket]:
    """A channel, and the socket of its other end, for a child process to make a channel of."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    return Channel(ours), theirs


def channel_of(fd: int) -> "Channel":
    """The channel over a socket that this process was given as a descriptor."""
    return Channel(socket.socket(fileno=fd))


class Channel:
    """One end of a connection; to be used by one thread at a time. It owns the socket."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            sock.setsockopt(socket.SOL_SOCKET, option, _BUFFER_BYTES)
        self._socket = sock
        self.outgoing: deque[tuple[memoryview, Sequence[int]]] = deque()  # what waits to be written, by `flush`
        self._frames: list[Frame] = []
        self._fds: deque[int] = deque()  # received, not yet part of a frame
        self._small = memoryview(bytearray(_READ_BYTES))
        self._inbox = self._small  # or memory for one frame that is larger
        self._filled = 0
        self._at_end = False

    def fileno(self) -> int:
        """The descriptor to wait on; -1 once closed."""
        return self._socket.fileno()

    @property
    def closed(self) -> bool:
        """Whether this end was closed."""
        return self._socket.fileno() < 0

    def send(self, message: Any, body: bytes | memoryview = b"", fds: Sequence[int] = ()) -> None:
        """Queues a frame and writes what the socket takes now; never blocks.

        The body must not change and the descriptors must stay open until the frame is flushed. ChannelClosed says that
        nobody will read it; frames that the other end sent before can still be received.
        """
        data = pickle.dumps(message, 5)
        if len(fds) > _MAX_FDS:
            raise ValueError(f"a frame carries at most {_MAX_FDS} descriptors, got {len(fds)}")
        frame = _PREFIX.pack(len(data), len(fds), len(body)) + data
        if fds or self.outgoing or len(body) > _SMALL_BYTES:
            self.outgoing.append((memoryview(frame), fds))
            if len(body):
                self.outgoing.append((memoryview(body).cast("B"), ()))
            self.flush()
            return
        frame += body
        try:
            sent = self._socket.send(frame, _SEND_FLAGS)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            raise ChannelClosed(f"the other end is gone: {error}") from error
        if sent < len(frame):
            self.outgoing.append((memoryview(frame)[sent:], ()))

    def flush(self) -> bool:
        """Writes what the socket takes now; True if nothing is left."""
        outgoing = self.outgoing
        while outgoing:
            parts, fds = self._next_parts()
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
            try:
                sent = self._socket.sendmsg(parts, ancillary, _SEND_FLAGS)
            except BlockingIOError:
                return False
            except OSError as error:
                outgoing.clear()
                raise ChannelClosed(f"the other end is gone: {error}") from error
            while outgoing and sent >= len(outgoing[0][0]):
                sent -= len(outgoing.popleft()[0])
            if sent:  # the descriptors went with the first byte
                outgoing[0] = outgoing[0][0][sent:], ()
        return True

    def drain(self, timeout: float | None = None) -> None:
        """Waits until everything is written. Frames that arrive meanwhile are kept for `recv`."""
        deadline = None if timeout is None else monotonic() + timeout
        while not self.flush():
            self._wait(deadline)
            self._read()

    def receive_ready(self) -> list[Frame]:
        """All frames that are complete, without waiting; ChannelClosed at the end of the stream, after the last one."""
        self._read()
        frames, self._frames = self._frames, []
        if not frames and self._at_end:
            raise self._end()
        return frames

    def recv(self, timeout: float | None = None) -> Frame:
        """The next frame; waits for it, and writes what is queued meanwhile."""
        deadline = None if timeout is None else monotonic() + timeout
        while not self._frames:
            self._read()
            if not self._frames:
                if self._at_end:
                    raise self._end()
                # An end that no longer reads may have written before it went: the stream says when it is over.
                with contextlib.suppress(ChannelClosed):
                    self.flush()
                self._wait(deadline)
        return self._frames.pop(0)

    def close(self) -> None:
        """Closes the socket and every descriptor that nobody has taken; again is harmless."""
        self._socket.close()
        self.outgoing.clear()
        close_all((*self._fds, *(fd for frame in self._frames for fd in frame.fds)))
        self._fds.clear()
        self._frames.clear()
        self._at_end = True

    def _end(self) -> ChannelClosed:
        if self.closed:
            return ChannelClosed("this channel is closed")
        return ChannelClosed("the other end is gone" + (", in the middle of a frame" if self._filled else ""))

    def _next_parts(self) -> tuple[list[memoryview], Sequence[int]]:
        # Descriptors go with the first byte of their frame, and one call carries those of one frame only.
        parts: list[memoryview] = []
        for part, fds in islice(self.outgoing, _MAX_PARTS):
            if fds and parts:
                break
            parts.append(part)
        return parts, self.outgoing[0][1]

    def _wait(self, deadline: float | None) -> None:
        poll = select.poll()
        readable = 0 if self._at_end else select.POLLIN
        poll.register(self._socket, readable | (select.POLLOUT if self.outgoing else 0))
        left = None if deadline is None else max(0.0, deadline - monotonic()) * 1000
        if not poll.poll(left):
            raise TimeoutError("the other end did not answer in time")

    def _read(self) -> None:
        """Reads and cuts into frames what there is, without waiting."""
        while not self._at_end:
            room = self._inbox[self._filled :]
            try:
                count, ancillary, _, _ = self._socket.recvmsg_into([room], _ANCILLARY_BYTES, _RECV_FLAGS)
            except BlockingIOError:
                return
            except OSError:  # a reset is an end like any other
                count, ancillary = 0, []
            for level, kind, data in ancillary:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    fds = array.array("i", data)
                    self._fds.extend(fds)
                    if not _RECV_FLAGS:
                        for fd in fds:
                            os.set_inheritable(fd, False)
            if not count:
                self._at_end = True
                return
            self._filled += count
            self._parse()
            if count < len(room) and not ancillary:  # a read stops early at descriptors too
                return

    def _parse(self) -> None:
        """Cuts the complete frames off the inbox, and makes room for the rest of the next."""
        inbox, filled, start, stop = self._inbox, self._filled, 0, _PREFIX.size
        while filled - start >= _PREFIX.size:
            message_bytes, fd_count, body_bytes = _PREFIX.unpack_from(inbox, start)
            body_start = start + _PREFIX.size + message_bytes
            stop = body_start + body_bytes
            if stop > filled:
                break
            body = inbox[body_start:stop]
            frame = (
                pickle.loads(inbox[start + _PREFIX.size : body_start]),
                bytes(body) if inbox is self._small else body,  # a large frame has its memory to itself
                tuple([self._fds.popleft() for _ in range(fd_count)]) if fd_count else (),
            )
            self._frames.append(tuple.__new__(Frame, frame))  # in half the time of `Frame(…)`
            start, stop = stop, stop + _PREFIX.size
        if start == filled and inbox is self._small:
            self._filled = 0
            return
        rest = inbox[start : self._filled]
        if stop - start > len(self._small):
            if inbox is self._small:
                self._inbox = memoryview(bytearray(stop - start))
                self._inbox[: len(rest)] = rest
        else:
            self._inbox = self._small
            if start and len(rest):
                self._small[: len(rest)] = bytes(rest)
        self._filled -= start
