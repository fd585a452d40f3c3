"""Measures a pipeline and says with how many threads and workers to run it."""

import dataclasses
import os
from statistics import median
from time import perf_counter, thread_time
from typing import Any

from grain._src import arguments, trees
from grain._src.api.dataset import Dataset
from grain._src.engine.run import iterate
from grain._src.nodes.inline import inlined
from grain._src.options import MultiprocessingOptions, ReadOptions

_MB = 1 << 20
_DEFAULT_BUFFER = 500
_MOST_THREADS = 64
# What it costs to bring an element over from another process: a fixed part and one that grows with its size.
_TRANSFER_SECONDS = 50e-6
_TRANSFER_BYTES_A_SECOND = 4e9
_WORTH = 4  # computing must take so many times longer than transferring before workers pay


@dataclasses.dataclass(frozen=True)
class PerformanceConfig:
    """Options to run a pipeline with, and why.

    Args:
      multiprocessing_options: for `mp_prefetch`.
      read_options: for `to_iter_dataset`.
      reason: what was measured and what follows from it, in words.
    """

    multiprocessing_options: MultiprocessingOptions | None = None
    read_options: ReadOptions | None = None
    reason: str = dataclasses.field(default="", repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class Measurement:
    """What one element takes.

    Args:
      elements: how many were looked at.
      computing: seconds of processor time that one takes, in the median.
      waiting: seconds in which nothing is computed, at least.
      size: bytes of the largest element.
    """

    elements: int
    computing: float
    waiting: float
    size: int


def pick_performance_config(
    ds: Dataset[Any],
    *,
    ram_budget_mb: int | None,
    max_workers: int | None,
    max_buffer_size: int | None,
    samples_to_check: int = 5,
) -> PerformanceConfig:
    """Returns options for `ds` after computing a few elements in this thread: `reason` says how they came about.

    >>> import grain
    >>> ds = grain.MapDataset.range(100).map(lambda x: x + 1).to_iter_dataset()
    >>> config = pick_performance_config(ds, ram_budget_mb=1024, max_workers=8, max_buffer_size=None)
    >>> config.multiprocessing_options.num_workers
    0

    Args:
      ds: the pipeline, without `mp_prefetch`.
      ram_budget_mb: how much memory elements that wait may take; None for a quarter of what the machine has.
      max_workers: the most processes; None for the number of processors.
      max_buffer_size: the most elements to hold ready; None for 500.
      samples_to_check: how many elements to compute.
    """
    if not isinstance(ds, Dataset):
        raise TypeError(f"ds must be a dataset, got {ds!r}")
    samples = arguments.positive("samples_to_check", samples_to_check)
    budget = _memory() // 4 if ram_budget_mb is None else arguments.non_negative("ram_budget_mb", ram_budget_mb) * _MB
    workers = _processors() if max_workers is None else arguments.non_negative("max_workers", max_workers)
    buffer = _DEFAULT_BUFFER if max_buffer_size is None else arguments.non_negative("max_buffer_size", max_buffer_size)
    measured = measure(ds, samples)
    if not measured.elements:
        return PerformanceConfig(MultiprocessingOptions(), ReadOptions(), "The dataset gave no elements to measure.")
    return choose(measured, budget, min(workers, _processors()), buffer)


def measure(ds: Dataset[Any], samples: int) -> Measurement:
    """Computes up to `samples` elements in this thread, after one to warm up."""
    times: list[tuple[float, float]] = []
    size = 0
    with iterate(inlined(ds._node)) as iterator:
        for _ in range(samples + 1):
            wall, cpu = perf_counter(), thread_time()
            try:
                element = next(iterator)
            except StopIteration:
                break
            times.append((perf_counter() - wall, thread_time() - cpu))
            size = max(size, trees.nbytes(element))
    times = times[1:] or times
    if not times:
        return Measurement(0, 0.0, 0.0, 0)
    # On a busy machine some elements also wait for a processor: the one that waited least tells what reading takes.
    waiting = min(max(0.0, wall - cpu) for wall, cpu in times)
    return Measurement(len(times), median(cpu for _, cpu in times), waiting, size)


def choose(measured: Measurement, budget: int, most_workers: int, most_buffered: int) -> PerformanceConfig:
    """Returns the options for what was measured: a pure function."""
    transfer = _TRANSFER_SECONDS + measured.size / _TRANSFER_BYTES_A_SECOND
    held = int(min(most_buffered, budget // max(1, measured.size)))
    said = [
        f"An element takes {_time(measured.computing)} to compute and {_time(measured.waiting)} of waiting, and "
        f"{_size(measured.size)} of memory ({measured.elements} measured)."
    ]
    if not held:
        said.append(f"The budget of {_size(budget)} does not hold one element: nothing is read ahead.")
        return PerformanceConfig(MultiprocessingOptions(), ReadOptions(0, 0), " ".join(said))
    threads = 1
    if measured.waiting > measured.computing:
        threads = min(_MOST_THREADS, held, 1 + round(measured.waiting / max(measured.computing, 1e-5)))
        said.append(f"It mostly waits, which {threads} threads do at the same time.")
    workers = 0
    if measured.computing < _WORTH * transfer:
        said.append(
            f"No workers: bringing an element over from another process takes about {_time(transfer)} by itself."
        )
    else:
        workers = min(most_workers, held // 2)
        limit = "the memory" if workers < most_workers else "the processors or the given limit"
        said.append(f"It computes long enough for workers: {workers}, as many as {limit} allow.")
    each = max(1, min(held // workers - 1, 16)) if workers else 1
    if workers:
        said.append(f"Each holds {each} elements ready, {_size(workers * (each + 1) * measured.size)} in all.")
    else:
        said.append(f"At most {held} elements are held ready, {_size(held * measured.size)} in all.")
    options = MultiprocessingOptions(num_workers=workers, per_worker_buffer_size=each)
    return PerformanceConfig(options, ReadOptions(threads, held), " ".join(said))


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> int:
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"


def _size(count: int) -> str:
    return f"{count / _MB:.3g} MB" if count >= _MB else f"{count} bytes"
