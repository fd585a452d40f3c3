"""What a workload file declares: its rows, and how the items of a row become a number."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Make = Callable[[], Iterable[Any]]


@dataclass(frozen=True)
class Metric:
    """A number taken from a pipeline.

    take: gets the pipeline's maker and the seconds it may use, and answers in `unit` for one item.
    more: whether a larger number is better.
    fresh: whether each repetition needs a new process.
    steady: whether repetitions do not differ, so that one is enough.
    """

    unit: str
    take: Callable[[Make, float], float]
    more: bool = True
    fresh: bool = False
    steady: bool = False


@dataclass(frozen=True)
class Row:
    """One line of the table: a metric of the workload's pipeline built with `params`.

    scale: what one item counts for (the records or the MB of a batch).
    limit_times: how often the bare loop may run at the same time without any core (reads that only wait).
    short: whether the row belongs to the short set.
    only: the libraries that can do this row at all; empty means every library that the workload has a function for.
    longer: how many times as long as others it is measured, where items come in bursts.
    defaults: whether settings other than the default make no difference here.
    spread: whether the user's functions take so long that two workers are worth a try; they are one of the settings then.
    """

    name: str
    metric: Metric
    params: Mapping[str, Any] = field(default_factory=dict)
    scale: float = 1.0
    limit_times: float = 1.0
    short: bool = True
    only: tuple[str, ...] = ()
    longer: float = 1.0
    defaults: bool = False
    spread: bool = False
