"""The options that tune how a pipeline runs; none of them changes what it gives."""

import dataclasses
import enum
from typing import Any

from grain._src import arguments
from grain._src.frozen import Frozen, frozen


@dataclasses.dataclass
class ReadOptions:
    """How `to_iter_dataset` reads ahead in the background.

    >>> ReadOptions(num_threads=4)
    ReadOptions(num_threads=4, prefetch_buffer_size=500)

    Args:
      num_threads: the most threads to read with; 0 reads in the calling thread, nothing ahead.
      prefetch_buffer_size: the most elements to hold ready; 0 reads nothing ahead. A budget in bytes bounds it too.
    """

    num_threads: int = 16
    prefetch_buffer_size: int = 500

    def __post_init__(self) -> None:
        arguments.non_negative("num_threads", self.num_threads)
        arguments.non_negative("prefetch_buffer_size", self.prefetch_buffer_size)


def checked_read_options(options: Any) -> ReadOptions:
    """Returns `options` if they are that, the defaults for None."""
    return (
        ReadOptions()
        if options is None
        else arguments.instance("read_options", options, ReadOptions, "grain.ReadOptions")
    )


@dataclasses.dataclass
class MultiprocessingOptions:
    """How `mp_prefetch` spreads the work over processes.

    >>> MultiprocessingOptions(num_workers=2).per_worker_buffer_size
    1

    Args:
      num_workers: how many processes; 0 computes in this one. The output does not depend on it.
      per_worker_buffer_size: how many blocks of elements a worker may compute ahead, beside the one it is at.
      enable_profiling: accepted for compatibility.
      worker_timeout: how many seconds a worker may be busy without an element being done before it counts as dead, is
        replaced, and its stack is shown; None waits, with a warning that shows the stack every minute.
    """

    num_workers: int = 0
    per_worker_buffer_size: int = 1
    enable_profiling: bool = False
    worker_timeout: float | None = dataclasses.field(default=None, repr=False)

    def __post_init__(self) -> None:
        arguments.non_negative("num_workers", self.num_workers)
        arguments.positive("per_worker_buffer_size", self.per_worker_buffer_size)
        arguments.flag("enable_profiling", self.enable_profiling)
        if self.worker_timeout is not None and not arguments.number("worker_timeout", self.worker_timeout) > 0:
            raise ValueError(
                f"worker_timeout must be None or a positive number of seconds, got {self.worker_timeout!r}"
            )


@enum.unique
class ExecutionTrackingMode(enum.Flag):
    """What is measured while a pipeline runs."""

    DISABLED = enum.auto()
    STAGE_TIMING = enum.auto()


@frozen
class _Default(Frozen):
    """A value that nobody set."""

    value: Any


@frozen
class DatasetOptions(Frozen):
    """Options of a whole pipeline, set with `grain.experimental.WithOptionsIterDataset`.

    >>> DatasetOptions(filter_warn_threshold_ratio=None).filter_warn_threshold_ratio is None
    True

    Args:
      filter_warn_threshold_ratio: warn when a filter drops more than this share of its elements; None never warns.
      filter_raise_threshold_ratio: raise when a filter drops more than this share; None never raises.
      execution_tracking_mode: accepted for compatibility.
      min_shm_size: accepted for compatibility: what travels in shared memory does not depend on it.
    """

    filter_warn_threshold_ratio: Any
    filter_raise_threshold_ratio: Any
    execution_tracking_mode: Any
    min_shm_size: Any

    def __init__(
        self,
        *,
        filter_warn_threshold_ratio: Any = _Default(0.9),
        filter_raise_threshold_ratio: Any = _Default(None),
        execution_tracking_mode: Any = _Default(ExecutionTrackingMode.DISABLED),
        min_shm_size: Any = _Default(0),
    ) -> None:
        chosen = {
            "filter_warn_threshold_ratio": filter_warn_threshold_ratio,
            "filter_raise_threshold_ratio": filter_raise_threshold_ratio,
            "execution_tracking_mode": execution_tracking_mode,
            "min_shm_size": min_shm_size,
        }
        values = {name: value.value if isinstance(value, _Default) else value for name, value in chosen.items()}
        for name in ("filter_warn_threshold_ratio", "filter_raise_threshold_ratio"):
            ratio = values[name]
            if ratio is not None and not 0 <= arguments.number(name, ratio) <= 1:
                raise ValueError(f"{name} must be None or between 0 and 1, got {ratio!r}")
        super().__init__(**values)
        self.__dict__["_given"] = [name for name, value in chosen.items() if not isinstance(value, _Default)]

    def merge(self, other: "DatasetOptions | None") -> "DatasetOptions":
        """Returns these options, completed by those of `other` that are not set here."""
        if other is None:
            return self
        given = {name: getattr(options, name) for options in (other, self) for name in options.__dict__["_given"]}
        return DatasetOptions(**given)
