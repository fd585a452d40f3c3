"""The threaded executor: blocks of elements are computed ahead in the background and handed out in order."""

import threading
import weakref
from collections.abc import Iterator
from itertools import islice
from time import perf_counter, sleep, thread_time
from typing import Any, NamedTuple

import numpy as np

from grain._src import trees
from grain._src.engine.bell import Bell
from grain._src.engine.blocks import Block
from grain._src.engine.courtesy import Courtesy
from grain._src.engine.inline import BLOCK_RECORDS
from grain._src.engine.tuning import Growth, Pace, ThreadTuner
from grain._src.nodes.base import EarlyStop, MapNode

BUDGET_BYTES = 256 << 20
_JOIN_SECONDS = 0.5  # a read that takes longer is left behind; its thread ends with it
_HUNGRY_BLOCKS = 4  # in a row make a consumer that wants every element as soon as it is there
_OWN_SHARE = 1 / 8  # of the time of a block, and
_OWN_SECONDS = 2e-7  # for an element: so little of its own does such a consumer do in between
_CHEAP_SHARE = 1 / 8  # of the time of a consumer that computes: so little reading it can as well do itself
_BUSY_SHARE = 0.8  # of its time does such a consumer compute
_LONG_LOCK_WAIT = 1e-3  # seconds until a thread gets the interpreter lock, which who keeps it lends every 5 ms
_BREATH_SECONDS = 1e-5  # and what the system's timer adds, 50 µs mostly, which is enough for a thread to wake up
_AWAY_SECONDS = 10e-3  # after which such a consumer has something else to do
_MOST_AWAY_SECONDS = 80e-3  # the longer it has not been away, the less often a thread looks
_HEAD_START_SECONDS = (
    20e-3  # has a consumer that computes its first element itself; one that takes longer is not worth waiting for
)
_ALONE_BYTES = 256 << 10
_RESERVE_BLOCKS = 8  # so many are ready before a thread holds back for the consumer
_FEW = 8  # so few elements are looked up one by one: arithmetic on short arrays costs more


class ThreadedReader:
    """Reads a dataset ahead with up to `num_threads` threads.

    The threads know only the work, not this object, so that a reader nobody holds any more is collected, and ends them.
    """

    def __init__(self, node: MapNode, num_threads: int, buffer_size: int, budget_bytes: int = BUDGET_BYTES) -> None:
        self._work = _Work(node, num_threads, buffer_size, budget_bytes)
        self._end = weakref.finalize(self, _Work.stop, self._work)

    def block_at(self, position: int) -> Block | None:
        """Returns the elements from `position` on; None at the end."""
        return self._work.take(position)

    def start(self, position: int) -> None:
        """Begins to read ahead from `position` on."""
        self._work.start(position)

    def close(self) -> None:
        """Ends the threads."""
        self._end()


class _Lane:
    """Elements whose indices are rewritten already, to be pulled from `position` on.

    Index arithmetic is cheap in long arrays only, while blocks are as short as the buffer wants them: consecutive blocks
    are pulled from one lane where they can be.
    """

    __slots__ = ("elements", "end", "generation", "position")

    def __init__(self, elements: Iterator[Any], generation: int, end: int) -> None:
        self.elements = elements
        self.generation = generation
        self.end = end
        self.position = -1


class _Claim(NamedTuple):
    """A block that somebody has begun to compute."""

    generation: int
    start: int
    end: int
    first: bool  # after a jump
    alone: bool  # by the consumer, while the threads rest
    lane: _Lane | None


class _Work:
    """What the threads and the consumer share, guarded by one lock."""

    def __init__(self, node: MapNode, num_threads: int, buffer_size: int, budget_bytes: int) -> None:
        self._node = node
        self._length = node.length
        self._buffer = buffer_size
        self._budget = budget_bytes
        self._tuner = ThreadTuner(num_threads)
        self._most_threads = num_threads  # the consumer counts too when it computes
        # Whose reader is collected may be a thread that holds it: garbage is collected wherever something is allocated.
        self._lock = threading.RLock()
        self._ready = Bell()  # the consumer waits here for its block
        self._room = threading.Condition(self._lock)  # threads wait here for room in the window
        self._threads: list[threading.Thread] = []
        self._active = 0
        self._stopped = False
        self._results: dict[int, tuple[list[Any], BaseException | None]] = {}
        self._generation = 0  # grows when the position jumps, so that late results are dropped
        self._origin = 0  # where it jumped to
        self._next = 0  # where the next block begins
        self._taken = 0  # up to where the consumer has taken blocks
        self._started = False
        self._blocks = Growth(buffer_size)
        self._element_bytes = 1.0
        self._element_seconds = 0.0
        self._alone = False  # whether the consumer computes and the threads rest
        self._courtesy = Courtesy()
        self._idle = 0  # threads that wait for something to do
        self._pace = Pace()
        self._at_trial = False  # whether it does so because of that
        self._hungry = 0  # blocks in a row that the consumer would have computed as soon by itself
        self._handed_out = perf_counter(), 0  # when the consumer got how many elements
        self._consumer_cpu = 0.0  # what it had computed by then
        self._woken = 0.0  # when it woke a thread that is yet to come
        self._lock_wait = 0.0  # how long such threads waited for the interpreter lock
        self._head_start = 0.0  # until when threads wait for the consumer's first block
        self._lane: _Lane | None = None
        self._lanes = Growth(
            1 if node.eager else max(1, BLOCK_RECORDS // node.width), amortized=True, parts=node.breadth
        )

    # The consumer's side.

    def start(self, position: int) -> None:
        with self._lock:
            if not self._started or position != self._taken:
                self._jump(position)
            self._grow()

    def _jump(self, position: int) -> None:
        self._blocks.restart()
        self._lanes.restart()
        self._generation += 1
        self._results.clear()
        self._origin = self._next = self._taken = position
        self._started = True
        if not self._alone:
            self._room.notify_all()

    def take(self, position: int) -> Block | None:
        try:
            return self._take(position)
        except BaseException:  # Ctrl-C
            self._started = False  # what was claimed here nobody else will compute: begin anew
            with self._lock:  # a thread may not have been started
                self._threads = [thread for thread in self._threads if thread.is_alive()]
                self._active = len(self._threads)
            raise

    def _take(self, position: int) -> Block | None:
        waited = False
        while True:
            with self._lock:
                # It may have been taken by another thread: they share the iterator, and should not.
                lost = waited and position not in self._results and not any(t.is_alive() for t in self._threads)
                if lost or not self._started or position != self._taken:
                    self._jump(position)
                if position >= self._length:
                    return None
                if not waited:
                    self._grow()
                    self._weigh(position)
                if position in self._results:
                    elements, error = self._results.pop(position)
                    return self._hand_out(position, elements, error)
                self._tuner.starved()
                if position == self._next and (self._alone or self._active < self._most_threads):
                    claimed = self._claim()
                    self._head_start = perf_counter() + _HEAD_START_SECONDS if claimed.first else 0.0
                    self._handed_out = 0.0, 0  # it is not away while it computes
                    break
            self._ready.wait(1.0)  # the deadline only guards against a thread that died without a result
            waited = True
        elements, error = self._compute(claimed)
        with self._lock:
            self._head_start = 0.0
            return self._hand_out(position, elements, error)

    def _weigh(self, position: int) -> None:
        """Has the consumer compute for itself, or not.

        Who does nothing but ask for elements has no time in which a thread could get ahead. Who computes all the time has
        nothing to gain if it keeps the interpreter lock meanwhile, and next to nothing where reading is cheap beside it. If
        threads compute no sooner together, the two would only pass the lock to and fro.
        """
        since, elements = self._handed_out
        own = perf_counter() - since
        reading = elements * self._element_seconds
        if elements:
            self._courtesy.visit(own)
        if self._pace.rest or self._at_trial:
            self._at_trial = self._pace.rest  # what it found out counts, not what may keep threads from going on
            self._hungry = _HUNGRY_BLOCKS if self._at_trial else 0
        elif not elements or not self._tuner.one_is_enough:
            self._hungry = 0
        elif own <= max(elements * _OWN_SECONDS, _OWN_SHARE * reading):
            self._hungry += position not in self._results
        elif self._consumer_computes(own) and (
            self._lock_wait > _LONG_LOCK_WAIT or reading <= own * (2 if self._alone else 1) * _CHEAP_SHARE
        ):
            self._hungry += 1
        else:
            self._hungry = 0
        if self._alone != (self._hungry >= _HUNGRY_BLOCKS):
            self._rest(not self._alone)

    def _consumer_computes(self, seconds: float) -> bool:
        return thread_time() - self._consumer_cpu > _BUSY_SHARE * seconds

    def _rest(self, alone: bool) -> None:
        """Has the threads rest, but look now and then whether they should; or has them go on."""
        self._alone = alone
        self._hungry = _HUNGRY_BLOCKS if alone else 0
        self._room.notify_all()

    def _is_away(self) -> bool:
        """Whether the consumer has stopped to ask for elements, so that a thread can get ahead after all."""
        since, elements = self._handed_out
        return elements > 0 and perf_counter() - since > _AWAY_SECONDS

    def _hand_out(self, position: int, elements: list[Any], error: BaseException | None) -> Block:
        end = position + len(elements)
        self._taken = end
        if error is not None:
            self._started = False  # what was computed ahead is of no use: the consumer stays where it is
        # Waking a thread for every little room would only pass the interpreter lock to and fro, unless a block takes long.
        elif self._idle and not self._alone and ((self._next - end) * 2 <= self._window() or self._tuner.computes):
            self._room.notify_all()
            self._woken = self._woken or perf_counter()
        now, cpu = perf_counter(), thread_time()
        self._handed_out, self._consumer_cpu = (now, len(elements)), cpu
        if self._tuner.trying:
            self._pace.restart()
        else:
            self._pace.observe(now, cpu, len(elements), self._alone)
        return Block.of(elements, end, error)

    # The threads' side.

    def _window(self) -> int:
        return max(1, min(self._buffer, int(self._budget / self._element_bytes)))

    def _claim(self) -> "_Claim":
        start = self._next
        self._next = min(start + self._size(), self._length)
        lane, self._lane = self._lane, None
        if lane is None or lane.position != start or lane.generation != self._generation:
            lane = None
        return _Claim(self._generation, start, self._next, start == self._origin, self._alone, lane)

    def _delay(self) -> float | None:
        """How many seconds a thread should wait before it begins a block; None until somebody wakes it."""
        if self._head_start:
            left = self._head_start - perf_counter()
            if left > 0:  # the first element comes sooner if nobody else wants the lock
                return max(1e-3, left)
            self._head_start = 0.0
        ahead, size = self._next - self._taken, self._size()
        if self._alone or self._next >= self._length or (ahead and ahead + size > self._window()):
            return None
        since, elements = self._handed_out
        if not elements or ahead < _RESERVE_BLOCKS * size or not self._tuner.holds_lock:
            return 0.0
        return self._courtesy.pause(perf_counter() - since, size * self._element_seconds)

    def _compute(self, claim: "_Claim") -> tuple[list[Any], BaseException | None]:
        elements: list[Any] = []
        error = None
        began, cpu, active = perf_counter(), thread_time(), self._active
        lane, missing = claim.lane, claim.end - claim.start
        try:
            few = missing == 1 or (missing <= _FEW and not self._node.eager)
            if lane is None and few and (claim.first or not claim.alone):
                for index in range(claim.start, claim.end):
                    elements.append(self._node.get(index))
                missing = 0
            while missing:
                if lane is None:
                    lane = self._open_lane(claim, claim.end - missing)
                elements.extend(islice(lane.elements, missing))
                if (missing := claim.end - claim.start - len(elements)) > 0:
                    if claim.end - missing < lane.end:
                        raise EarlyStop
                    lane = None
        except BaseException as raised:
            error, lane = EarlyStop() if isinstance(raised, StopIteration) else raised, None
        ended, cpu = perf_counter(), thread_time() - cpu
        with self._lock:
            self._tuner.observe(ended - began, cpu, active, ended, len(elements))
            if claim.alone and self._pace.probing:
                self._pace.probe(ended - began, cpu, ended)
            self._resize(ended - began, elements, active)
            if lane is not None and self._lane is None:
                lane.position = claim.end
                self._lane = lane
        return elements, error

    def _open_lane(self, claim: "_Claim", start: int) -> "_Lane":
        # Where several threads claim blocks the next one is somebody else's.
        ahead = self._lanes.size if claim.alone or self._tuner.wanted == 1 else 0
        end = min(max(claim.end, start + ahead), self._length)
        began = perf_counter()
        elements = self._node.stream(np.arange(start, end))
        self._lanes.observe(perf_counter() - began, end - start)
        return _Lane(elements, claim.generation, end)

    def _resize(self, seconds: float, elements: list[Any], active: int) -> None:
        if elements:
            # One element of each block stands for the rest; quickly up, slowly down.
            size = trees.nbytes(elements[-1])
            self._element_bytes = max(size, 0.9 * self._element_bytes + 0.1 * size)
            each = min(seconds / len(elements), 4 * self._element_seconds or seconds)  # one straggler is not a trend
            self._element_seconds += 0.2 * (each - self._element_seconds)
            self._blocks.observe(seconds / max(1, active), len(elements))  # so often one comes

    def _size(self) -> int:
        if self._alone and self._pace.probing:
            return 1
        if self._alone:  # nothing is gained by computing ahead of what fits into the cache
            return max(1, min(self._blocks.size, int(_ALONE_BYTES / self._element_bytes)))
        return min(self._blocks.size, max(1, self._window() // (2 * max(1, self._active))))

    def _grow(self) -> None:
        while self._active < self._tuner.wanted and not self._stopped:
            thread = threading.Thread(target=self._run, name="grain-reader", daemon=True)
            self._threads = [t for t in self._threads if t.is_alive()] + [thread]
            self._active += 1
            thread.start()

    def _run(self) -> None:
        while True:
            with self._lock:
                patience = _AWAY_SECONDS
                while not self._stopped and self._active <= self._tuner.wanted and (delay := self._delay()) != 0:
                    self._idle += 1
                    self._room.wait(patience if self._alone and delay is None else delay)
                    self._idle -= 1
                    patience = min(2 * patience, _MOST_AWAY_SECONDS)
                    if self._alone and self._is_away():
                        self._pace.end_trial(perf_counter())
                        self._rest(False)
                if self._stopped or self._active > self._tuner.wanted:
                    self._active -= 1
                    return
                if self._woken:
                    self._lock_wait += 0.25 * (perf_counter() - self._woken - self._lock_wait)
                    self._woken = 0.0
                claimed = self._claim()
            elements, error = self._compute(claimed)
            with self._lock:
                if claimed.generation == self._generation:
                    self._results[claimed.start] = elements, error
                    if claimed.start == self._taken:
                        self._ready.ring()
                computes = self._tuner.computes
            del elements, error
            if computes:
                # Whoever waits for the interpreter lock gets it now, not when the switch interval (5 ms) is over.
                sleep(_BREATH_SECONDS)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            self._generation += 1
            self._results.clear()
            self._room.notify_all()
            threads, self._threads = self._threads, []
        if threading.current_thread() in threads:  # which the others may be waiting for
            return
        deadline = perf_counter() + _JOIN_SECONDS
        for thread in threads:
            if thread.is_alive():
                thread.join(max(0.0, deadline - perf_counter()))
