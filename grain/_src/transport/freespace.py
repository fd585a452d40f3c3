"""Which parts of an address range are free: best fit, neighbours merged, pure integer arithmetic."""

from bisect import bisect_left, insort


class FreeSpace:
    """Free blocks of integer addresses.

    >>> space = FreeSpace()
    >>> space.give(0, 1024)
    >>> space.take(256), space.take(512), space.take(512)
    (0, 256, None)
    """

    def __init__(self) -> None:
        self._lengths: list[int] = []  # distinct lengths of free blocks, sorted
        self._starts_of: dict[int, dict[int, None]] = {}  # length → starts; a dict, for removal in O(1) and LIFO order
        self._length_at: dict[int, int] = {}  # start → length
        self._start_before: dict[int, int] = {}  # stop → start

    def take(self, size: int) -> int | None:
        """Takes `size` addresses and returns the first, or None where no free block is large enough."""
        at = bisect_left(self._lengths, size)
        if at == len(self._lengths):
            return None
        length = self._lengths[at]
        # The block freed last: its pages are the likeliest to be in a cache.
        start = next(reversed(self._starts_of[length]))
        self._remove(start, length)
        if length > size:
            # The rest stays at the end: low addresses are used first, so fresh pages are touched last.
            self._insert(start + size, length - size)
        return start

    def give(self, start: int, size: int) -> None:
        """Gives back addresses that are taken, or adds new ones."""
        stop = start + size
        after = self._length_at.get(stop)
        if after is not None:
            self._remove(stop, after)
            stop += after
        before = self._start_before.get(start)
        if before is not None:
            self._remove(before, start - before)
            start = before
        self._insert(start, stop - start)

    def free_bytes(self) -> int:
        """How many addresses are free."""
        return sum(self._length_at.values())

    def _insert(self, start: int, length: int) -> None:
        starts = self._starts_of.get(length)
        if starts is None:
            insort(self._lengths, length)
            starts = self._starts_of[length] = {}
        starts[start] = None
        self._length_at[start] = length
        self._start_before[start + length] = start

    def _remove(self, start: int, length: int) -> None:
        starts = self._starts_of[length]
        del starts[start]
        if not starts:
            del self._starts_of[length]
            del self._lengths[bisect_left(self._lengths, length)]
        del self._length_at[start]
        del self._start_before[start + length]
