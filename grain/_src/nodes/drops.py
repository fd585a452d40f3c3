"""Watches how much a filter drops: nearly everything is usually a mistake."""

import warnings

from grain._src.nodes import context

_WINDOW = 1000


class Drops:
    """Counts what one transformation drops, in windows of 1,000 elements."""

    def __init__(self, what: str) -> None:
        options = context.current().options
        self._what = what
        self._warn = options.filter_warn_threshold_ratio
        self._raise = options.filter_raise_threshold_ratio
        self._start = 0
        self._dropped = 0

    def restart(self, seen: int) -> None:
        """Begins a window at element number `seen`."""
        self._start, self._dropped = seen, 0

    def drop(self, seen: int) -> None:
        """Notes that one element was dropped when `seen` had been looked at."""
        self._dropped += 1
        total = seen - self._start
        if total < _WINDOW:
            return
        ratio = self._dropped / total
        self.restart(seen)
        if self._raise is not None and ratio > self._raise:
            raise ValueError(
                f"{self._what} dropped {ratio:.2%} of the last {total} elements, more than "
                f"filter_raise_threshold_ratio={self._raise:.2%}. Filter the data before training, or raise the limit."
            )
        if self._warn is not None and ratio > self._warn:
            warnings.warn(
                f"{self._what} dropped {ratio:.2%} of the last {total} elements. The work on dropped elements is wasted: "
                "filter the data before training (or does a `map` forget its `return`?), or set "
                "filter_warn_threshold_ratio in grain.experimental.DatasetOptions.",
                stacklevel=2,
            )
