"""Watches how much a filter drops: nearly everything is usually a mistake."""

from typing import Any

from grain._src.nodes import context
from grain._src.warn import warn

WINDOW = 1000


class Drops:
    """Judges what one transformation drops, in windows of 1,000 elements or a little more."""

    def __init__(self, what: str) -> None:
        options = context.current().options
        self._what = what
        self._warn: Any = options.filter_warn_threshold_ratio
        self._raise: Any = options.filter_raise_threshold_ratio
        self._seen = 0
        self._dropped = 0

    @property
    def strict(self) -> bool:
        """Whether dropping too much is an error, so that each window must end exactly where it ends."""
        return bool(self._raise)

    def restart(self) -> None:
        """Begins a window."""
        self._seen = self._dropped = 0

    def add(self, seen: int, dropped: int) -> None:
        """Notes that `dropped` of the next `seen` elements were dropped; raises or warns at the end of a window."""
        self._seen += seen
        self._dropped += dropped
        if self._seen >= WINDOW:
            seen, dropped = self._seen, self._dropped
            self.restart()
            self._judge(dropped / seen, seen)

    def _judge(self, ratio: float, seen: int) -> None:
        if self._raise and ratio >= self._raise:
            raise ValueError(
                f"{self._what} dropped {ratio:.2%} of the last {seen} elements, at least "
                f"filter_raise_threshold_ratio={self._raise:.2%}. Filter the data before training, or raise the limit."
            )
        if self._warn and ratio >= self._warn:
            self._warn = None  # once is enough
            warn(
                f"{self._what} dropped {ratio:.2%} of the last {seen} elements. The work on dropped elements is wasted: "
                "filter the data before training (or does a `map` forget its `return`?), or set "
                "filter_warn_threshold_ratio in grain.experimental.DatasetOptions.",
            )
