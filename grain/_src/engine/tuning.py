"""What reading learns from its own times: how many threads are worth having, how large blocks may be."""

import os

from grain._src.engine.trials import Contest, Retry, Trial

_LONG_ENOUGH = 2e-4  # seconds; shorter blocks say nothing about waiting
_SMOOTHING = 0.2
_TRIAL_PAUSES = 5.0, 300.0  # seconds after a trial that failed: the first time, and at the most
_PARALLEL = 0.3  # of another core is what one more thread has to get
_SURE_RATIO = 2.4  # is more than what a thread and a consumer that take turns make of it; and
_SURE_BLOCKS = 8  # such blocks in a row call for a contest
_CONTEST_PAUSES = 2.0, 60.0  # the same for a contest that changed nothing
_PACE_BLOCKS = 8
_PACE_SECONDS = 0.05
_SOONER = 1.1  # so many times has to be what is worth a change
_SOME_SHARE = 0.15  # of its time computes a consumer that may be held up by threads
_BUSY_SHARE = 0.8  # and one that threads would not help
_QUICK_SECONDS = 1e-3
_MOST_SECONDS = 50e-3


class ThreadTuner:
    """Learns from the wall time and the CPU time of each block how many threads to use.

    The ratio of the two says how many threads fit into a block's waiting. But threads that only take turns at the
    interpreter lock wait for each other too: n of them, and the consumer, make it n + 1. So their number grows only
    while the ratio is well above what taking turns explains, and shrinks when taking turns explains it.

    That is careful: code that waits and then computes could do with more, but so looks code that computes while others
    have the cores. Where the consumer has to wait, a contest tells: more threads must give more elements a second.

    Code that computes but releases the lock is worth a thread for each core, which a short trial tells: two threads that
    compute at once get more CPU time than the time that passes. Those that take turns do not, whether the turns change
    within a block, which then takes twice its CPU time, or between blocks.
    """

    def __init__(self, most: int, cores: int | None = None) -> None:
        self.wanted = 1
        self._most = most
        self._cores = min(most, cores or os.cpu_count() or 1)
        self._wall = 0.0
        self._cpu = 0.0
        self._blocks = 0  # since the number of threads changed
        self._starved = 0  # how often the consumer has waited meanwhile
        self._elements = 0  # of the last block
        self._waited = 0  # how many blocks in a row, the last one included, the times clearly speak of waiting
        self._computing = 1  # how many threads code that computes is worth
        self._trial: Trial | None = None
        self._trials = Retry(*_TRIAL_PAUSES)
        self._now = 0.0
        self._worth = 1  # how many threads a contest has found to be worth having
        self._contest: Contest | None = None
        self._upwards = True  # whether the next one is about more of them, or about fewer
        self._contests = Retry(*_CONTEST_PAUSES)

    def observe(self, wall: float, cpu: float, threads: int, ended: float, elements: int = 0) -> None:
        """Takes note of a block of elements that was computed until `ended`, while `threads` threads were at work.

        Without the number of elements there are no contests.
        """
        self._now = ended
        if self._contest is not None:
            self._continue_contest(self._contest, elements, threads, ended)
            return
        if self._trial is not None:
            if threads > self._computing:  # else it was begun before the trial
                self._continue_trial(self._trial, wall, cpu, ended)
            return
        if self._wall:
            wall = min(wall, 4 * self._wall)  # one straggler is not a trend
        self._wall += _SMOOTHING * (wall - self._wall) if self._wall else wall
        self._cpu += _SMOOTHING * (cpu - self._cpu) if self._cpu else cpu
        self._blocks += 1
        self._elements = elements
        self._waited = self._waited + 1 if self._ratio > _SURE_RATIO else 0
        if self._blocks < self.wanted:
            return
        if self._wall < _LONG_ENOUGH:
            self._worth = 1
            self._want(max(self._computing, self.wanted // 2))
            return
        if self._ratio < self.wanted / 2:  # they do not even all wait for each other
            self._worth = 1
        if self._ratio > 1.5 * (self.wanted + 1):
            self._want(min(self._most, max(2 * self.wanted, int(self._ratio / 2))))
        elif self._take_turns and self.wanted > self._worth and not self._begin_contest(upwards=False):
            self._want(max(self._computing, self._worth, self.wanted // 2))

    @property
    def _ratio(self) -> float:
        return self._wall / max(self._cpu, 1e-6)

    @property
    def _take_turns(self) -> bool:
        """Whether the threads may do nothing but that."""
        return self._ratio < 1.25 * self.wanted

    @property
    def one_is_enough(self) -> bool:
        """Whether elements are computed, not waited for, and by now it is known that more threads are of no use."""
        tried = self._wall < _LONG_ENOUGH or self._trials.was_of_no_use or self._cores == 1
        settled = self.wanted == 1 and not self.trying and self._blocks > 2
        return settled and self._wall < 2 * self._cpu and tried

    @property
    def trying(self) -> bool:
        """Whether another number of threads is being tried."""
        return self._trial is not None or self._contest is not None

    @property
    def computes(self) -> bool:
        """Whether blocks take some time, and most of it is not waiting."""
        return self._wall >= _LONG_ENOUGH and self._wall < 2 * self._cpu

    @property
    def holds_lock(self) -> bool:
        """Whether such blocks may keep the interpreter lock, for all that is known."""
        return self.computes and self.wanted == 1 and not self.trying

    def _want(self, threads: int) -> None:
        if threads != self.wanted:
            self.wanted, self._blocks, self._starved = threads, 0, 0

    def starved(self) -> None:
        """Takes note that the consumer had to wait: it may be worth a trial to have more threads."""
        self._starved += 1
        if not self.trying and self._blocks > 2:
            if not self.computes:
                self._begin_contest(self._upwards or self._worth < self.wanted or not self._take_turns)
            elif self._trials.due(self._now) and self.wanted == self._computing < self._cores:
                self._trial = Trial()
                self._want(self._computing + 1)

    def _begin_contest(self, upwards: bool) -> bool:
        """Begins one if it is time for it, and the consumer waits; says whether it did."""
        threads = self.wanted
        due = self._contests.due(self._now) and self._blocks >= threads
        waits = self._wall >= _LONG_ENOUGH and self._waited >= _SURE_BLOCKS
        starving = 2 * threads * self._starved >= self._blocks
        if not (self._elements and due and waits and starving):
            return False
        self._upwards = upwards
        rival = min(self._most, 2 * threads) if upwards else max(1, threads // 2)
        if rival == threads:
            self._put_off_contest()
            return False
        self._contest = Contest(min(threads, rival), max(threads, rival))
        self._want(self._contest.threads)
        return True

    def _continue_contest(self, contest: Contest, elements: int, threads: int, ended: float) -> None:
        contest.add(elements, threads, ended, self._starved)
        if not contest.over:
            self._want(contest.threads)
            return
        self._contest = None
        known, self._worth = self._worth, contest.winner
        if contest.winner == (contest.few if self._upwards else known):
            self._put_off_contest()
        else:  # who wins goes on
            self._upwards = contest.winner == contest.more
            self._contests.restart()
        self._want(contest.winner)

    def _continue_trial(self, trial: Trial, wall: float, cpu: float, ended: float) -> None:
        trial.add(wall, cpu, ended)
        if trial.over:
            self._trial = None
            if trial.parallelism > self._computing + _PARALLEL:
                self._computing += 1
                self._trials.restart()
            else:
                self._trials.put_off(ended)
            self._want(self._computing)

    def _put_off_contest(self) -> None:
        self._upwards = not self._upwards
        self._contests.put_off(self._now)


class Pace:
    """Finds out by trying whether the consumer gets on sooner if the threads rest and it computes for itself.

    Two threads that compute, and give up the interpreter lock now and then, hand it to each other all the time. What that
    costs no measure of one of them shows, and a thread that waits for the lock looks like one that waits for its source.
    """

    def __init__(self) -> None:
        self.rest = False  # whether the threads should, be it for a trial
        self.probing = False  # whether the trial has just begun: one element says whether reading waits
        self._better = False  # whether it is known to be
        self._with_threads = 0.0, 0.0  # elements a second, the last two times: one may have met a pause of the consumer
        self._trials = Retry(*_TRIAL_PAUSES)
        self.restart()

    def restart(self) -> None:
        """Begins to measure anew: what was seen so far was something else."""
        self._last: tuple[float, float, int] | None = None
        self._blocks = self._elements = 0
        self._seconds = self._cpu = 0.0

    def observe(self, now: float, cpu: float, elements: int, resting: bool) -> None:
        """Takes note of elements that are handed out, the time, what the consumer has computed, and if threads rest."""
        if resting != self.rest:  # for another reason
            self.restart()
            self.rest = self.probing = False
            return
        if self._last is not None:
            then, cpu_then, consumed = self._last
            self._blocks += 1
            self._elements += consumed
            self._seconds += now - then
            self._cpu += cpu - cpu_then
        self._last = now, cpu, elements
        if self._blocks >= _PACE_BLOCKS and self._seconds >= _PACE_SECONDS and not self.probing:
            self._judge(now, self._elements / self._seconds, self._cpu / self._seconds)
            self.restart()

    def probe(self, wall: float, cpu: float, now: float) -> None:
        """Takes note of what the first element of a trial took: if reading waits, threads are of use."""
        self.probing = False
        self.restart()  # what came before had been read ahead
        if wall > max(_LONG_ENOUGH, 2 * cpu):
            self.end_trial(now)

    def _judge(self, now: float, pace: float, share: float) -> None:
        if not self.rest:
            self._with_threads = self._with_threads[1], pace
            known = self._with_threads[0] > 0  # the first blocks are still growing
            self.rest = self.probing = known and share > _SOME_SHARE and self._trials.due(now)
            self._better = False
        elif share < _BUSY_SHARE or (pace < _SOONER * max(self._with_threads) and not self._better):
            self.end_trial(now)
        elif not self._better:
            self._better = True
            self._trials.put_off(now)
        elif self._trials.due(now):  # things may have changed
            self.rest = False

    def end_trial(self, now: float) -> None:
        """Has the threads go on, for some time at least; if there was no trial, nothing changes."""
        if self.rest:
            self.rest = self.probing = False
            self._trials.put_off(now)


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
        self.first = self.size
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
        self.size = self.first
        self._rate = float("inf")
