"""What runs in a worker process: it computes the blocks it is sent, and knows nothing else."""

import contextlib
import faulthandler
import gc
import os
import pickle
import signal
import threading
import time
from collections import deque
from functools import partial
from typing import Any

from grain._src import trees
from grain._src.engine import processes
from grain._src.engine.local import Local, make_local
from grain._src.engine.processes.messages import BLOCK, DONE, FAILED, INIT, READY, SKIP, STAGE, UNKNOWN_MODULE
from grain._src.nodes import context, memory
from grain._src.options import DatasetOptions
from grain._src.transport.arena import Arena
from grain._src.transport.channel import Channel, ChannelClosed, Frame, channel_of
from grain._src.transport.codec import encode
from grain._src.transport.share import load_shared

_GRACE_SECONDS = 1.0
_SILENT = context.RunContext(DatasetOptions(filter_warn_threshold_ratio=None))  # the training process judges filters


def main(channel_fd: int, lifeline_fd: int, stacks_fd: int, pulse_fd: int) -> None:
    """Serves blocks until the training process closes the channel or dies."""
    # Ctrl-C is for the training process, which then ends its workers; they start with the signal blocked.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    processes.in_worker = True
    faulthandler.register(signal.SIGUSR1, file=stacks_fd, all_threads=True)
    threading.Thread(target=_die_with_parent, args=(lifeline_fd,), daemon=True).start()
    channel = channel_of(channel_fd)
    with contextlib.closing(channel), contextlib.suppress(ChannelClosed):
        _Server(channel, pulse_fd).serve()


def _die_with_parent(lifeline_fd: int) -> None:
    """Ends the process when the training process is gone, whatever the main thread is doing."""
    os.read(lifeline_fd, 1)
    time.sleep(_GRACE_SECONDS)
    os._exit(1)


class _Server:
    def __init__(self, channel: Channel, pulse_fd: int) -> None:
        self._channel = channel
        self._pulse_fd = pulse_fd
        self._pulse = 0
        self._stages: dict[int, Local] = {}
        self._arena = Arena(0)
        self._workers = 1
        self._frames: deque[Frame] = deque()  # received, and yet to be looked at

    def serve(self) -> None:
        self._channel.send((READY, False))
        while True:
            self._take_in(self._channel.receive_ready())
            if not self._frames:
                self._take_in([self._channel.recv()])
            skipped = self._skipped()
            frame = self._frames.popleft()
            match frame.message:
                case (tag, task, stage, _, request) if tag == BLOCK:
                    if task in skipped:
                        self._skip(task)
                    else:
                        self._block(task, stage, request, frame.body)
                case (tag, number) if tag == STAGE:
                    self._stage(number, bytes(frame.body), frame.fds)
                case (tag, index, count, budget) if tag == INIT:
                    self._init(index, count, budget, bytes(frame.body))

    def _take_in(self, frames: list[Frame]) -> None:
        """Puts frames to those that wait. Memory that they give back is used at once, while it is in the cache."""
        for frame in frames:
            if frame.message[0] == BLOCK:
                self._arena.free(frame.message[3])
        self._frames.extend(frames)

    def _skipped(self) -> set[int]:
        """The blocks of which a later frame says that they are in vain."""
        return {frame.message[1] for frame in self._frames if frame.message[0] == SKIP}

    def _upcoming(self, stage: int) -> tuple[Any, ...] | None:
        """The request of the next block, if it has come and is for the same stage."""
        with contextlib.suppress(ChannelClosed):  # which is noticed after this block
            self._take_in(self._channel.receive_ready())
        blocks = [frame.message for frame in self._frames if frame.message[0] == BLOCK]
        skipped = self._skipped() if blocks else ()
        _, task, number, _, request = next((block for block in blocks if block[1] not in skipped), (None,) * 5)
        return request if task is not None and number == stage else None

    def _init(self, index: int, count: int, budget: int, body: bytes) -> None:
        self._arena = Arena(budget)
        self._workers = count
        memory.set_allocator(self._arena.empty)
        _collect_again()
        if body:
            try:
                pickle.loads(body)(index, count)
            except BaseException as error:
                error.add_note(f"grain: raised by worker_init_fn in worker process {index}")
                self._channel.send((FAILED, processes.encode_error(error)))
        self._channel.send((READY, True))

    def _stage(self, number: int, payload: bytes, fds: tuple[int, ...]) -> None:
        collects = gc.isenabled()  # or the init function does not want it
        gc.disable()
        try:
            with context.using(_SILENT):
                work = load_shared(payload, fds)
                self._stages[number] = make_local(work, self._workers, self._beat, partial(self._upcoming, number))
        except ModuleNotFoundError as error:
            self._channel.send((UNKNOWN_MODULE, number, error.name, processes.encode_error(error)))
        except BaseException as error:
            error.add_note("grain: raised in a worker process while unpickling the pipeline")
            self._channel.send((FAILED, processes.encode_error(error)))
        if collects:
            _collect_again()

    def _beat(self) -> None:
        """Shows that a block gets on, however long it takes."""
        self._pulse += 1
        os.pwrite(self._pulse_fd, self._pulse.to_bytes(8), 0)

    def _skip(self, task: int) -> None:
        head = encode([[]], None).head
        self._channel.send((DONE, task, head, None, None, None, False, False, 0.0, 0, 1))

    def _block(self, task: int, stage: int, request: tuple[Any, ...], body: bytes | memoryview) -> None:
        if stage not in self._stages:
            return  # it could not be unpickled; the training process knows
        state = self._part(task, stage, request, body)
        while state is not None:
            self._take_in(self._channel.receive_ready())
            if task in self._skipped():
                self._skip(task)
                return
            state = self._part(task, stage, (state, *request[1:]), body)

    def _part(self, task: int, stage: int, request: tuple[Any, ...], body: bytes | memoryview) -> dict[str, Any] | None:
        """Computes a block, or a part of one that takes long; returns where to go on if there is more to come."""
        began = time.perf_counter()
        outcome = self._stages[stage].run(body, *request)
        seconds = time.perf_counter() - began
        size = trees.nbytes(outcome.elements[-1]) * len(outcome.elements) if outcome.elements else 0
        box = [outcome.elements]
        del outcome.elements  # the codec hands arrays over without a copy only if nobody else holds them
        marks, state, unfinished = outcome.marks, outcome.state, outcome.unfinished
        error = processes.encode_error(outcome.error) if outcome.error is not None else None
        try:
            encoded = encode(box, self._arena)
        except Exception as unpicklable:
            unpicklable.add_note("grain: raised while sending elements from a worker process to the training process")
            error, state, unfinished = processes.encode_error(unpicklable), None, False
            count = _picklable(box[0])
            encoded, marks = encode([box[0][:count]], self._arena), None if marks is None else marks[:count]
        about = unfinished, outcome.holes, seconds, size, outcome.records
        self._channel.send((DONE, task, encoded.head, marks, error, state, *about), encoded.body, encoded.fds)
        self._channel.drain()  # before the next block, which may take long
        return state if unfinished else None


def _collect_again() -> None:
    """Switches the garbage collector on, for what comes: what is there stays, so it need not look at that."""
    gc.freeze()
    gc.enable()


def _picklable(elements: list[Any]) -> int:
    """Returns how many of the first elements can be sent."""
    for count, element in enumerate(elements):
        try:
            encode([element], None)
        except Exception:
            return count
    return len(elements)
