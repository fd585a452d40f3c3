"""Threads within a worker process: the elements of one block are read by several where reading waits."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from grain._src.engine.tuning import ThreadTuner
from grain._src.indexing.permutation import IndexArray
from grain._src.nodes import memory, reading
from grain._src.nodes.base import EarlyStop, MapNode
from grain._src.trees import Allocate

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_ROUNDS = 16  # at the end of a block threads have nothing to do
_PARTS = 2  # for each thread, so that one slow element does not keep all of them waiting
_PART_SECONDS = 16e-3  # that long reading a part may take: handing it out costs something
_LAST_PARTS = 4  # so many more, and smaller, are what is read last, where threads have to wait for each other
_CLEARLY_WAITING = 8
_FIND_OUT_SECONDS = 4e-3  # of reading say whether it waits
_WORTH_IT_SECONDS = 1e-3  # handing out the parts of a shorter block takes longer than it saves
_GAIN = 1.2  # so much faster threads have to be than none
_TRIED_BLOCKS = 4
_PAUSE_BLOCKS = 100  # after which threads are tried again; twice as many after the next time, up to
_MOST_PAUSE_BLOCKS = 400
_CHECKED_BLOCKS = (
    _TRIED_BLOCKS  # after which one without threads shows what that takes now; twice as many after the next
)
_CHECK_SECONDS = 50e-3  # so long it may take at the most


Reads: TypeAlias = tuple[MapNode, IndexArray]
_Part: TypeAlias = tuple[list[Any], BaseException | None, float, float, float]


class _Ahead(NamedTuple):
    """What threads have begun to read for the next block."""

    node: MapNode
    indices: IndexArray
    parts: "deque[Future[_Part]]"


class _Asked(Exception):
    """Carries what threads would be asked for out of the pipeline that asks for it."""

    def __init__(self, reads: Reads | None) -> None:
        super().__init__()
        self.reads = reads


class Fan:
    """Reads for the thread that is within it; measures what it reads, and uses more threads where that helps.

    Args:
      most: how many threads at the most; one, or none, is the one that asks.
      workers: how many processes share the machine's cores.
      upcoming: says what the next block is going to begin with, if that is known. Threads that have nothing to do at the
        end of a block go on with it.
    """

    def __init__(self, most: int, workers: int, upcoming: Callable[[], Reads | None] = lambda: None) -> None:
        self._upcoming = upcoming
        self._ahead: _Ahead | None = None
        self._ahead_before: _Ahead | None = None  # this block
        self._most = max(1, most)
        self._cores = max(1, (os.cpu_count() or 1) // workers)
        self._tuner = ThreadTuner(self._most, self._cores)
        self._pool: ThreadPoolExecutor | None = None
        self._threads = 1  # of the pool
        self._warm = False  # the first block loads and opens things
        self._alone = 0.0  # seconds for a record without threads
        self._together: list[float] = []  # and with them, of the last blocks
        self._fastest = 0.0  # of those that were judged
        self._pause = 0  # blocks for which there are none, because they were of no use
        self._next_pause = _PAUSE_BLOCKS
        self._until_check = self._next_check = _CHECKED_BLOCKS
        self.fanned, self._read_records = False, 0  # of this block

    @property
    def records(self) -> int:
        """How many records a block should have for all threads to have some, most of the time."""
        return 1 if self._tuner.wanted == 1 else _ROUNDS * _PARTS * self._tuner.wanted

    def __enter__(self) -> None:
        reading.set_reader(self._read)
        self._ahead_before = self._ahead
        self.fanned, self._read_records = False, 0
        self._wall, self._cpu = perf_counter(), thread_time()

    def __exit__(self, *exception: object) -> None:
        wall, cpu = perf_counter() - self._wall, thread_time() - self._cpu
        reading.set_reader(None)
        if self._ahead is self._ahead_before:  # nobody has asked for it
            self._forget()
        self._judge(wall / max(1, self._read_records))
        worth_it = wall > _WORTH_IT_SECONDS and not self._pause
        if not self.fanned and (self._warm or wall > _CLEARLY_WAITING * cpu):
            self._tuner.observe(wall if worth_it else cpu, cpu, 1, perf_counter())
        if worth_it:
            self._tuner.starved()
        self._warm = True

    def _judge(self, seconds: float) -> None:
        """Does without threads for a while if they do not make a record cheaper."""
        self._pause = max(0, self._pause - 1)
        if not self.fanned:
            if self._alone and seconds > self._alone:  # one that was held up is not a trend
                seconds = self._alone + (min(seconds, 2 * self._alone) - self._alone) / 4
            self._alone = seconds
            self._together.clear()
            if not self._until_check:
                self._next_check *= 2
                self._until_check = self._next_check
                self._give_up_if_slow()
            return
        self._until_check = max(0, self._until_check - 1)
        self._together.append(seconds)
        if len(self._together) == _TRIED_BLOCKS:
            self._fastest = min(self._together)
            self._together.clear()
            self._give_up_if_slow()

    def _give_up_if_slow(self) -> None:
        if self._fastest * _GAIN > self._alone:
            self._tuner, self._pause = ThreadTuner(self._most, self._cores), self._next_pause
            self._next_pause = min(2 * self._next_pause, _MOST_PAUSE_BLOCKS)

    def _read(self, node: MapNode, indices: IndexArray) -> Iterator[Any]:
        together = self._worth_it(node, indices, self._until_check)
        if together or node.width == 1:  # else they are counted when their elements are asked for
            self._read_records += len(indices) * node.width
        if not self._warm and self._most > 1 and node.width == 1:
            return self._find_out(node, indices)
        return self._read_together(node, indices) if together else node.stream(indices)

    def _worth_it(self, node: MapNode, indices: IndexArray, until_check: int) -> bool:
        """Whether several threads read this sooner, unless it is time to see whether they do."""
        threads, width = self._tuner.wanted, node.width
        records = width * len(indices)
        if not until_check and self._fastest * threads * records <= _CHECK_SECONDS:
            return False
        # A few batches leave threads without work: their elements, which they ask for in turn, do not.
        few = len(indices) < (_PARTS * threads if width > 1 else 2)
        return threads > 1 and not few and self._alone * records >= _WORTH_IT_SECONDS

    def _find_out(self, node: MapNode, indices: IndexArray) -> Iterator[Any]:
        """Reads the first block: one by one, and the rest together as soon as it is clear that reading waits."""
        at, size = 0, 1
        wall = cpu = 0.0  # of all but the first record, which opens things
        while at < len(indices):
            began = perf_counter(), thread_time()
            end = min(at + size, len(indices))
            for element in node.stream(indices[at:end]):
                at += 1
                yield element
            if at < end:  # it ended early
                return
            if at > 1:
                size = at
                wall, cpu = wall + perf_counter() - began[0], cpu + thread_time() - began[1]
                if wall > max(_FIND_OUT_SECONDS, _CLEARLY_WAITING * cpu) and at < len(indices):
                    self._alone = wall / (at - 1)
                    self._tuner.observe(wall, cpu, 1, perf_counter())
                    yield from self._read_together(node, indices[at:])
                    return

    def _read_together(self, node: MapNode, indices: IndexArray) -> Iterator[Any]:
        self.fanned = True
        threads = self._tuner.wanted
        waiting = self._begun(node, indices) or self._hand_out(node, indices, threads)
        try:
            while waiting:
                if self._ahead is None and len(waiting) <= _LAST_PARTS * threads:
                    self._begin_next(node, threads)
                elements, error, wall, cpu, ended = waiting.popleft().result()
                self._tuner.observe(wall, cpu, threads, ended)
                yield from elements
                if error is not None:
                    raise error
        finally:
            for future in waiting:  # nobody asks for the rest
                future.cancel()

    def _hand_out(self, node: MapNode, indices: IndexArray, threads: int) -> "deque[Future[_Part]]":
        pool = self._pool_of(threads)
        allocate = memory.allocator()
        seconds = self._alone * node.width * len(indices) / threads
        rounds = max(_PARTS, round(seconds / _PART_SECONDS))
        last = len(indices) - len(indices) // rounds  # where the last round begins
        parts = [*_split(indices[:last], (rounds - 1) * threads), *_split(indices[last:], _LAST_PARTS * threads)]
        return deque([pool.submit(_read_part, node, part, allocate) for part in parts])

    def _begin_next(self, reading_now: MapNode, threads: int) -> None:
        """Has threads begin with the next block as soon as they have nothing to do."""
        upcoming = self._upcoming()
        if upcoming is not None and _leads_to(upcoming[0], reading_now):
            reads = self._foresee(*upcoming)
            if reads is not None:
                self._ahead = _Ahead(*reads, self._hand_out(*reads, threads))

    def _foresee(self, node: MapNode, indices: IndexArray) -> Reads | None:
        """Returns what threads will be asked for when `indices` of `node` are read; reads nothing."""
        reading.set_reader(self._ask)
        try:
            next(reading.stream(node, indices), None)
        except _Asked as asked:
            return asked.reads
        except Exception:  # the next block is going to meet it at its place
            return None
        finally:
            reading.set_reader(self._read)
        return None

    def _ask(self, node: MapNode, indices: IndexArray) -> Iterator[Any]:
        """In place of `_read`: comes to the same decision, and goes no further."""
        if self._worth_it(node, indices, max(0, self._until_check - 1)):
            raise _Asked((node, indices))
        if node.width == 1:
            raise _Asked(None)
        return node.stream(indices)

    def _begun(self, node: MapNode, indices: IndexArray) -> "deque[Future[_Part]] | None":
        """Returns what was begun ahead, if it is this."""
        ahead = self._ahead
        if ahead is not None and ahead.node is node and np.array_equal(ahead.indices, indices):
            self._ahead = None
            return ahead.parts
        self._forget()
        return None

    def _forget(self) -> None:
        if self._ahead is not None:
            for future in self._ahead.parts:
                future.cancel()
            self._ahead = None

    def _pool_of(self, threads: int) -> "ThreadPoolExecutor":
        if self._pool is None or self._threads != threads:
            from concurrent.futures import ThreadPoolExecutor  # most workers never need it

            if self._pool is not None:
                self._pool.shutdown(wait=False)
            self._pool, self._threads = ThreadPoolExecutor(threads, "grain-fan"), threads
        return self._pool


def _split(indices: IndexArray, count: int) -> list[IndexArray]:
    return np.array_split(indices, max(1, min(len(indices), count)))


def _leads_to(node: MapNode, wanted: MapNode) -> bool:
    """Whether whoever reads `node` is bound to ask for `wanted` before anything else."""
    while node is not wanted and len(node.parents) == 1 and isinstance(node.parents[0], MapNode):
        node = node.parents[0]
    return node is wanted


def _read_part(node: MapNode, indices: IndexArray, allocate: Allocate | None) -> _Part:
    """Returns the elements before an error, the error, the wall and CPU time, and when it ended."""
    memory.set_allocator(allocate)
    elements: list[Any] = []
    error: BaseException | None = None
    began, cpu = perf_counter(), thread_time()
    try:
        elements.extend(node.stream(indices))
        if len(elements) < len(indices):
            error = EarlyStop()
    except BaseException as raised:
        error = raised
    ended = perf_counter()
    return elements, error, ended - began, thread_time() - cpu, ended
