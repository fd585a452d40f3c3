"""Wakes the consumer: a wait that Ctrl-C may end at any moment."""

import contextlib
import threading


class Bell:
    """Somebody waits, somebody else rings; once is enough for all that has happened since.

    The wait of a condition is not fit for the main thread: interrupted while it takes its lock again, it is left without it,
    and whoever held it for the time of a block gives back what is not theirs.
    """

    def __init__(self) -> None:
        self._rung = threading.Lock()
        self._rung.acquire()

    def ring(self) -> None:
        """Ends the wait, or the next one."""
        with contextlib.suppress(RuntimeError):  # it has been rung already
            self._rung.release()

    def wait(self, seconds: float) -> None:
        """Waits until it is rung, `seconds` at the most."""
        self._rung.acquire(timeout=seconds)
