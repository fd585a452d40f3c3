"""What a workload file declares: its rows, and how the items of a row become a number."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Make = Callable[[], Iterable[Any]]
Take = Callable[[Make, float, float], Iterator[float]]


@dataclass(frozen=True)
class Metric:
    """A number taken from a pipeline.

    take: gets the pipeline's maker, the seconds that a measurement may use, and those before the first that do not count;
      answers in `unit` for one item, as often as it is asked.
    more: whether a larger number is better.
    fresh: whether each repetition needs a new process.
    steady: whether repetitions do not differ, so that one is enough.
    rounds: how often it is asked in a repetition.
    """

    unit: str
    take: Take
    more: bool = True
    fresh: bool = False
    steady: bool = False
    rounds: int = 4


@dataclass(frozen=True)
class Row:
    """One line of the table: a metric of the workload's pipeline built with `params`.

    scale: what one item counts for (the records or the MB of a batch).
    limit_times: how often the bare loop may run at the same time without any core (reads that only wait).
    short: whether the row belongs to the short set.
    only: the libraries that can do this row at all; empty means every library that the workload has a function for.
    longer: how many times as long as others it is measured, where items come in bursts.
    warm_up: how many times as long as it is measured it runs before, where it takes some time to get going.
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
    warm_up: float = 1.0
    defaults: bool = False
    spread: bool = False
