"""Starts a pipeline: turns its nodes into running iterators."""

import contextlib
import dataclasses
import gc
import sys
from collections.abc import Callable, Iterator
from typing import Any

from grain._src.engine import processes
from grain._src.engine.ahead import AheadIterator
from grain._src.engine.inline import InlineReader
from grain._src.engine.plan import remote_of, spreads_of, stage_of
from grain._src.engine.reader import Reader, ReaderIterator
from grain._src.engine.threads import ThreadedReader
from grain._src.nodes import context
from grain._src.nodes.base import MapNode, Node
from grain._src.nodes.custom import CustomStream
from grain._src.nodes.prefetch import ProcessPrefetch, ThreadPrefetch
from grain._src.nodes.steps import Step, StreamWithoutHoles
from grain._src.nodes.stream import DatasetIterator, SelfStarting, StreamNode
from grain._src.nodes.to_iter import ToIter, WithOptions
from grain._src.options import MultiprocessingOptions

has_lock = getattr(sys, "_is_gil_enabled", lambda: True)  # whether threads take turns at one interpreter lock


def iterate(node: Node) -> DatasetIterator[Any]:
    """Returns an iterator over the elements of `node`, at its beginning.

    Options hold for the whole pipeline, wherever they stand in it; the outermost win.
    """
    here = context.current()
    options = here.options
    waiting = [node]
    while waiting:
        above = waiting.pop()
        waiting += above.parents
        if isinstance(above, WithOptions):
            options = options.merge(above.options)
    with context.using(dataclasses.replace(here, options=options)):
        return _start(node)


def on_workers(
    node: Node, options: MultiprocessingOptions, init: Callable[[int, int], None] | None = None
) -> ProcessPrefetch:
    """Returns `node`, computed by worker processes. What starts them is loaded here: the first element need not wait for it."""
    if options.num_workers and has_lock() and not processes.in_worker:
        processes.load_first()
    return ProcessPrefetch(node, options, init)


def _start(node: Node) -> DatasetIterator[Any]:
    if isinstance(node, MapNode):
        node = ToIter(node)
    iterator = _run(node)
    observer = context.current().observer
    return iterator if observer is None else observer(node, iterator)


def _run(node: Node) -> DatasetIterator[Any]:
    if isinstance(node, ProcessPrefetch):
        return _spread(node)
    workers = context.current().workers
    if isinstance(node, ThreadPrefetch):
        parent = _start(node.parent)
        # Where workers compute ahead no thread need do so, and only one thread may ask them.
        return AheadIterator(parent, node.buffer_size) if node.buffer_size and workers is None else parent
    strict = bool(context.current().options.filter_raise_threshold_ratio)
    stage = stage_of(node) if workers is not None else None
    if workers is not None and stage is not None:
        if not (strict and stage.thinned):
            return processes.StageIterator(stage, workers)
        if isinstance(node, ToIter):  # what is dropped is counted in order, here
            return _start(StreamWithoutHoles(dataclasses.replace(node, allow_nones=True)))
    if workers is not None and not strict and (remote := remote_of(node)) is not None:
        return processes.RemoteIterator(remote, workers)
    if workers is not None and isinstance(node, Step) and not strict:
        above, spreads = spreads_of(node)
        iterator = _start(above)
        for spread in spreads:
            iterator = processes.SpreadIterator(spread, iterator, workers)
        return iterator
    if isinstance(node, ToIter):
        return _read(node)
    if isinstance(node, WithOptions):
        return _start(node.parent)
    if isinstance(node, SelfStarting):
        return node.start(iterate)
    if isinstance(node, CustomStream):
        return node.build(())
    if isinstance(node, StreamNode):
        return node.build([_start(parent) for parent in node.parents])
    raise TypeError(f"cannot iterate over {node!r}")


def _spread(node: ProcessPrefetch) -> DatasetIterator[Any]:
    here = context.current()
    if not node.options.num_workers or here.workers is not None or processes.in_worker:
        return _start(node.parent)  # within the pipeline of another `mp_prefetch` its workers do everything
    if not has_lock():
        # Threads that run at once need no processes: those that read, and one that runs the rest ahead.
        threads = max(here.threads, node.options.num_workers)
        with context.using(dataclasses.replace(here, threads=threads)):
            return AheadIterator(_start(node.parent), threads * (1 + node.options.per_worker_buffer_size))
    with _collecting_later():
        pool = processes.Pool(node.options, node.worker_init_fn)
        pool.start()  # the first one loads its modules while this process restores a checkpoint, or compiles
    processes.load_rest()
    with context.using(dataclasses.replace(here, workers=pool)):
        return processes.PooledIterator(_start(node.parent), pool)


@contextlib.contextmanager
def _collecting_later() -> Iterator[None]:
    """Puts off a garbage collection that is due: with much data in memory it takes long, and a worker can start meanwhile."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _read(node: ToIter) -> DatasetIterator[Any]:
    least = context.current().threads
    threads, size = int(node.read_options.num_threads), int(node.read_options.prefetch_buffer_size)
    if not threads or not size:
        threads, size = least, 2 * least
    reader: Reader
    if threads:
        reader = ThreadedReader(node.parent, max(threads, least), max(size, least))
    else:
        reader = InlineReader(node.parent)
    return ReaderIterator(node.parent, reader, node.allow_nones)
