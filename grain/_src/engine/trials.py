"""Two numbers of threads compared: by the processor time they get, or by the elements they give; and when to compare."""

import math

_TRIAL_BLOCKS = 8
_TRIAL_SECONDS = 0.03
_LONG_TRIAL_BLOCKS = 5  # so few say enough when they took as long as this
_LONG_TRIAL_SECONDS = 0.15
_ROUND_BLOCKS = 3  # of each thread, and
_ROUND_SECONDS = 0.08  # make a round of a contest
_PAIRS = 6  # of rounds at the most
_AHEAD = 1.07  # so many times as many elements a second must more threads give
_SURE = 0.2  # so far from that is one pair of rounds beyond doubt, and less, by the square root, are several


class Retry:
    """When to try something again: some time after it was of no use, twice as long after each further time.

    Args:
      seconds: the first time.
      most: the longest.
    """

    def __init__(self, seconds: float, most: float) -> None:
        self._first = seconds
        self._most = most
        self.restart()

    def restart(self) -> None:
        """Forgets that it was of no use."""
        self._pause = self._at = 0.0

    def due(self, now: float) -> bool:
        """Whether it is time."""
        return now >= self._at

    @property
    def was_of_no_use(self) -> bool:
        """Whether it was tried, the last time in vain."""
        return self._pause > 0

    def put_off(self, now: float) -> None:
        """Takes note that it was of no use."""
        self._pause = min(max(self._first, 2 * self._pause), self._most)
        self._at = now + self._pause


class Trial:
    """What blocks took while one more thread was at work."""

    def __init__(self) -> None:
        self._blocks: list[tuple[float, float, float]] = []  # when they began and ended, and their CPU time

    def add(self, wall: float, cpu: float, ended: float) -> None:
        self._blocks.append((ended - wall, ended, cpu))

    @property
    def over(self) -> bool:
        """Whether it says enough."""
        count, wall = len(self._blocks), sum(ended - began for began, ended, _ in self._blocks)
        return (count >= _TRIAL_BLOCKS and wall >= _TRIAL_SECONDS) or (
            count >= _LONG_TRIAL_BLOCKS and wall >= _LONG_TRIAL_SECONDS
        )

    @property
    def parallelism(self) -> float:
        """The CPU time that blocks got while time passed in which some block was under way."""
        # From the end of the first on as many blocks end as begin.
        until = min(ended for _, ended, _ in self._blocks)
        got = passed = 0.0
        for began, ended, cpu in sorted(self._blocks):
            if ended > until:
                passed += ended - max(began, until)
                until = ended
            got += cpu
        first = min(self._blocks, key=lambda block: block[1])
        return (got - first[2]) / max(passed, 1e-9)


class Contest:
    """Elements a second with few threads and with more, in turns, since the machine has phases."""

    def __init__(self, few: int, more: int) -> None:
        self.few = few
        self.more = more
        self._paces: list[float] = []
        self._decided = False
        self._begin_round()

    def _begin_round(self) -> None:
        self._began = 0.0
        self._others = 0  # blocks of the round before
        self._blocks = self._elements = 0

    @property
    def threads(self) -> int:
        """How many should be at work now."""
        return self.more if len(self._paces) % 2 else self.few

    @property
    def over(self) -> bool:
        """Whether other rounds would change nothing."""
        pairs, half = divmod(len(self._paces), 2)
        if self._decided or pairs == _PAIRS:
            return True
        return pairs > 0 and not half and abs(self._gain - _AHEAD) > _SURE / math.sqrt(pairs)

    @property
    def winner(self) -> int:
        """More threads, if they were ahead; few, too, if the consumer has no need of more."""
        return self.more if self._gain > _AHEAD else self.few

    @property
    def _gain(self) -> float:
        """How many times as many elements a second more threads gave."""
        pairs = len(self._paces) // 2
        few, more = self._paces[0 : 2 * pairs : 2], self._paces[1 : 2 * pairs : 2]
        return sum(more) / max(sum(few), 1e-9)

    def add(self, elements: int, threads: int, ended: float, starved: int) -> None:
        """Takes note of a block: its end, how many were at work when it began, how often the consumer has waited."""
        if threads != self.threads:
            self._others += 1
            self._decided = self._others > 8 * self.more  # they do not come, or do not go
            return
        self._blocks += 1
        if self._blocks <= threads:  # the first ones met those of the round before
            self._began = ended
            return
        self._elements += elements
        seconds = ended - self._began
        # Threads that began together finish together: a round has as many blocks of each.
        if self._blocks >= (1 + _ROUND_BLOCKS) * threads and self._blocks % threads == 0 and seconds >= _ROUND_SECONDS:
            if threads == self.few and 2 * threads * starved < self._blocks:
                self._decided = True
                return
            self._paces.append(self._elements / seconds)
            self._begin_round()
