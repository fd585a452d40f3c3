"""What reading learns from its own times: how many threads are worth having, how large blocks may be."""

import os

_LONG_ENOUGH = 2e-4  # seconds; shorter blocks say nothing about waiting
_SMOOTHING = 0.2
_TRIAL_BLOCKS = 8
_TRIAL_SECONDS = 0.03
_LONG_TRIAL_BLOCKS = 3  # so few say enough when they took as long as this
_LONG_TRIAL_SECONDS = 0.15
_RETRY_BLOCKS = 500
_CONTENDED = 1.5
_QUICK_SECONDS = 1e-3
_MOST_SECONDS = 50e-3


class ThreadTuner:
    """Learns from the wall time and the CPU time of each block how many threads to use.

    The ratio of the two says how many threads fit into a block's waiting. But threads that only take turns at the
    interpreter lock wait for each other too: n of them, and the consumer, make it n + 1. So their number grows only
    while the ratio is well above what taking turns explains, and shrinks when taking turns explains it.

    Code that computes but releases the lock is worth a thread for each core, which a short trial tells: with two threads
    at work, blocks of code that holds the lock take twice their CPU time.
    """

    def __init__(self, most: int, cores: int | None = None) -> None:
        self.wanted = 1
        self._most = most
        self._cores = min(most, cores or os.cpu_count() or 1)
        self._wall = 0.0
        self._cpu = 0.0
        self._blocks = 0  # since the number of threads changed
        self._computing = 1  # how many threads code that computes is worth
        self._trial: tuple[int, float, float] | None = None  # blocks, wall and CPU time of a trial
        self._next_trial = 0

    def observe(self, wall: float, cpu: float, threads: int) -> None:
        """Takes note of a block that was computed while `threads` threads were at work."""
        self._next_trial -= 1
        if self._trial is not None:
            if threads > self._computing:  # else it was begun before the trial
                self._continue_trial(wall, cpu)
            return
        if self._wall:
            wall = min(wall, 4 * self._wall)  # one straggler is not a trend
        self._wall += _SMOOTHING * (wall - self._wall) if self._wall else wall
        self._cpu += _SMOOTHING * (cpu - self._cpu) if self._cpu else cpu
        self._blocks += 1
        if self._blocks < self.wanted:
            return
        if self._wall < _LONG_ENOUGH:
            self._want(max(self._computing, self.wanted // 2))
            return
        ratio = self._wall / max(self._cpu, 1e-6)
        if ratio > 1.5 * (self.wanted + 1):
            self._want(min(self._most, max(2 * self.wanted, int(ratio / 2))))
        elif ratio < 1.25 * self.wanted:
            self._want(max(self._computing, self.wanted // 2))

    def _want(self, threads: int) -> None:
        if threads != self.wanted:
            self.wanted, self._blocks = threads, 0

    def starved(self) -> None:
        """Takes note that the consumer had to wait: for code that computes, another thread may be worth a trial."""
        computes = self._blocks > 2 and self._wall >= _LONG_ENOUGH and self._wall < 2 * self._cpu
        if self._trial is None and computes and self._next_trial <= 0 and self.wanted == self._computing < self._cores:
            self._trial = (0, 0.0, 0.0)
            self._want(self._computing + 1)

    def _continue_trial(self, wall: float, cpu: float) -> None:
        assert self._trial is not None
        blocks, walls, cpus = self._trial[0] + 1, self._trial[1] + wall, self._trial[2] + cpu
        self._trial = (blocks, walls, cpus)
        enough = blocks >= _TRIAL_BLOCKS and walls >= _TRIAL_SECONDS
        if enough or (blocks >= _LONG_TRIAL_BLOCKS and walls >= _LONG_TRIAL_SECONDS):
            self._trial = None
            self._next_trial = _RETRY_BLOCKS
            if walls < _CONTENDED * cpus:
                self._computing += 1
                self._next_trial = 0
            self._want(self._computing)


class Growth:
    """How many elements to take at once: twice as many while that is quick.

    Args:
      most: the limit.
      size: how many at first.
      amortized: whether to go on while each element becomes cheaper, for work that has a large fixed part.
      parts: how many such parts there are: a mixture of many does something for each, however few elements it takes.
    """

    def __init__(self, most: int, size: int = 1, amortized: bool = False, parts: int = 1) -> None:
        self._quick = min(_MOST_SECONDS, parts * _QUICK_SECONDS)
        self._amortized = amortized
        self.size = min(size, most)
        self._first = self.size
        self._most = most
        self._rate = float("inf")

    def observe(self, seconds: float, size: int) -> None:
        """Takes note of how long `size` elements took."""
        rate = seconds / size
        cheaper = self._amortized and rate < 0.75 * self._rate and seconds < _MOST_SECONDS
        if seconds < self._quick or cheaper:
            self.size = min(max(self.size, 2 * size), self._most)
        elif seconds > 4 * self._quick and not (self._amortized and rate < self._rate):
            self.size = max(1, size // 2)
        self._rate = rate

    def restart(self) -> None:
        """Begins again, after a jump: who jumps wants one element soon."""
        self.size = self._first
        self._rate = float("inf")
