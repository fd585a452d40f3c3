"""How many elements to take at once: it takes less time than one by one, where that is quick."""

_QUICK_SECONDS = 1e-3
_MOST = 256


def next_at_once(before: int, taken: int, seconds: float, quick: float | None = None) -> int:
    """Returns how many to take next: as many as are quick, at most twice as many as `before`.

    Args:
      before: how many it were to be the last time.
      taken: how many were asked for.
      seconds: how long that took.
      quick: how long it may take; a millisecond, where somebody waits for the first of them.
    """
    affordable = taken * (_QUICK_SECONDS if quick is None else quick) / max(1e-9, seconds)
    return max(1, min(int(affordable), 2 * before, _MOST))
