"""How many threads are worth having: reads that wait get more, Python that holds the interpreter lock does not."""

import os

_LONG_ENOUGH = 2e-4  # seconds; shorter blocks say nothing about waiting
_TRIAL_BLOCKS = 8
_TRIAL_SECONDS = 0.03
_CONTENDED = 1.5
_TURNS = 1.5


class ThreadTuner:
    """Learns from the wall time and the CPU time of each block how many threads to use.

    A block that mostly waits is worth as many threads as fit into its waiting. A block that computes is worth a second
    thread only if its code releases the interpreter lock, which one short trial tells: with two threads at work, blocks
    of code that holds the lock take twice their CPU time.
    """

    def __init__(self, most: int, cores: int | None = None) -> None:
        self.wanted = 1
        self._most = most
        self._cores = min(most, cores or os.cpu_count() or 1)
        self._ratio = float("inf")
        self._computing = 1
        self._trial_blocks = 0
        self._trial_wall = 0.0
        self._trial_cpu = 0.0
        self._tried_in_vain = False

    def observe(self, wall: float, cpu: float, threads: int) -> None:
        """Takes note of a block that was computed while `threads` threads were at work."""
        if wall < _LONG_ENOUGH:
            self._ratio = min(self._ratio, 1.0)
            return
        ratio = wall / max(cpu, 1e-6)
        # The least contended blocks tell the truth; older ones are slowly forgotten, but not for what threads that take
        # turns on a busy machine may explain: each thread more would seem to call for another.
        explained = ratio <= _TURNS * threads
        self._ratio = min(self._ratio if explained else self._ratio * 1.1, ratio)
        if threads > self._computing and self._ratio_is_low(threads):
            self._continue_trial(wall, cpu)
        self.wanted = max(self._computing, min(self._most, round(self._ratio)))

    def _ratio_is_low(self, threads: int) -> bool:
        return self._ratio < 2 * threads

    def _continue_trial(self, wall: float, cpu: float) -> None:
        self._trial_blocks += 1
        self._trial_wall += wall
        self._trial_cpu += cpu
        if self._trial_blocks >= _TRIAL_BLOCKS and self._trial_wall >= _TRIAL_SECONDS:
            if self._trial_wall / max(self._trial_cpu, 1e-6) < _CONTENDED:
                self._computing += 1
            else:
                self._tried_in_vain = True
            self._trial_blocks, self._trial_wall, self._trial_cpu = 0, 0.0, 0.0

    def starved(self) -> None:
        """Takes note that the consumer had to wait: another thread may be worth a trial."""
        if not self._tried_in_vain and self._computing < self._cores and self._ratio != float("inf"):
            self.wanted = max(self.wanted, self._computing + 1)
