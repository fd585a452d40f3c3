"""A thread that runs an iterator ahead of its consumer, with the state after each element."""

import threading
import weakref
from collections import deque
from time import perf_counter
from typing import Any, TypeAlias

from grain._src.engine.bell import Bell
from grain._src.nodes.stream import DatasetIterator

_JOIN_SECONDS = 0.5  # an element that takes longer is left behind; the thread ends with it

# What it is ("element" or "error"), the element or error, and the parent's state and position after it.
_Entry: TypeAlias = tuple[str, Any, dict[str, Any], int | None]


def _position(parent: Any) -> int | None:
    return getattr(parent, "record_position", None)


class AheadIterator(DatasetIterator[Any]):
    """Hands out what a thread has computed ahead; its state is the parent's right after what was handed out."""

    def __init__(self, parent: DatasetIterator[Any], buffer_size: int) -> None:
        super().__init__()
        self._parents = (parent,)  # anything with `__next__`, `get_state` and `set_state` will do
        self._buffer_size = buffer_size
        self._state = parent.get_state()
        self._position = _position(parent)
        self._runner: _Runner | None = None
        self._end: Any = None

    def __next__(self) -> Any:
        if self._closed:
            raise ValueError("Trying to advance a closed iterator")
        self.start_prefetch()
        assert self._runner is not None
        # From here on nothing is called: Ctrl-C comes before the element is handed out, or after.
        kind, value, self._state, self._position = self._runner.handed = self._runner.peek()
        if kind == "element":
            return value
        self._stop()  # the thread has ended by itself; a later `next` starts another one where this one stopped
        raise value

    def start_prefetch(self) -> None:
        if self._runner is not None and self._runner.stopped:  # Ctrl-C came while it was being stopped
            self._runner.wait()
            self._parent.set_state(self._state)
            self._runner = None
        if self._runner is None:
            runner = _Runner(self._parent, self._buffer_size)
            self._end = weakref.finalize(self, _Runner.stop, runner)
            self._runner = runner
        self._runner.start()

    def _stop(self) -> None:
        if self._runner is not None:
            self._end()
            self._runner = None

    def get_state(self) -> dict[str, Any]:
        return self._state

    def set_state(self, state: dict[str, Any]) -> None:
        runner = self._runner
        self._stop()
        if runner is not None:
            runner.wait()  # the parent is used by one thread at a time
        try:
            self._parent.set_state(state)
        except Exception:
            self._parent.set_state(self._state)  # the thread had run ahead: stay where the consumer is
            raise
        self._state = self._parent.get_state()  # in its own words: `state` may be one of the original library's workers
        self._position = _position(self._parent)

    def __getattr__(self, name: str) -> Any:
        if name == "record_position" and self._position is not None:  # where what is above has positions, so has this
            return self._position
        if name == "record_source":
            return self._parent.record_source  # type: ignore[attr-defined]
        raise AttributeError(name)

    def close(self) -> None:
        self._stop()
        self._closed = True
        if hasattr(self._parent, "close"):
            self._parent.close()


class _Runner:
    """The thread and its buffer; it knows the parent only, so that the iterator can be collected."""

    def __init__(self, parent: DatasetIterator[Any], buffer_size: int) -> None:
        self._parent = parent
        self._buffer_size = buffer_size
        self._buffer: deque[_Entry] = deque()
        # By itself: Ctrl-C does not come between its acquisition and the block under it. The thread may have it when it
        # collects garbage, and with that the iterator.
        self._lock = threading.RLock()
        self._room = threading.Condition(self._lock)  # the thread waits here
        self._arrived = Bell()  # and here its consumer
        self.stopped = False
        self.handed: _Entry | None = None  # what the consumer has got of the buffer
        self._thread: threading.Thread | None = None  # the one that runs
        self._ended = False  # itself: `is_alive` and `join` that Ctrl-C comes into take a thread for dead
        self._over = Bell()

    def start(self) -> None:
        """Starts the thread, if none runs."""
        if self._thread is None:
            threading.Thread(target=self._run, name="grain-ahead", daemon=True).start()

    def _run(self) -> None:
        with self._lock:
            if self._thread is not None or self.stopped:  # after Ctrl-C at the start there may be two of them
                return
            self._thread = threading.current_thread()
        try:
            self._read()
        finally:
            self._ended = True
            self._arrived.ring()
            self._over.ring()

    def _read(self) -> None:
        going = True
        while going:
            try:
                element = next(self._parent)
                entry: _Entry = ("element", element, self._parent.get_state(), _position(self._parent))
            except BaseException as error:
                entry = ("error", error, self._parent.get_state(), _position(self._parent))
                going = False
            with self._lock:
                while self._ready() >= self._buffer_size and not self.stopped:
                    self._room.wait()
                if self.stopped:
                    return
                self._buffer.append(entry)
            self._arrived.ring()
            element = entry = None  # type: ignore[assignment]

    def _ready(self) -> int:
        return len(self._buffer) - (self.handed is not None)

    def peek(self) -> _Entry:
        """Returns the entry after the element that was handed out, which is forgotten; an error is the last one."""
        while True:
            with self._lock:
                if self._buffer and self._buffer[0] is self.handed and self.handed[0] == "element":
                    del self._buffer[0]
                self.handed = None
                self._room.notify()
                if self._buffer:
                    return self._buffer[0]
                if self._ended:
                    raise RuntimeError("the thread that reads ahead has ended without a result")
            self._arrived.wait(1.0)

    def wait(self, seconds: float = float("inf")) -> None:
        """Waits until the thread has ended, `seconds` at the most."""
        deadline = perf_counter() + seconds
        if self._thread is not None and self._thread is not threading.current_thread():
            while not self._ended and perf_counter() < deadline:
                self._over.wait(min(1.0, seconds))

    def stop(self) -> None:
        with self._lock:
            self.stopped = True
            self._room.notify()
        self.wait(_JOIN_SECONDS)
