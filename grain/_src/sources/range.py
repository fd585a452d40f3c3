"""A range of integers as a source."""

import dataclasses

from grain._src import arguments
from grain._src.sources.base import DataSource, IndexArray


@dataclasses.dataclass(frozen=True)
class RangeDataSource(DataSource[int]):
    """The integers start, start + step, … before stop.

    >>> list(RangeDataSource(1, 10, 3))
    [1, 4, 7]
    """

    start: int
    stop: int
    step: int

    def __post_init__(self) -> None:
        span = arguments.span(self.start, self.stop, self.step)
        for name in ("start", "stop", "step"):
            object.__setattr__(self, name, getattr(span, name))
        if (self.stop - self.start) * self.step < 0:
            raise ValueError(f"step must lead from start to stop, got {self!r}")

    def __len__(self) -> int:
        return len(range(self.start, self.stop, self.step))

    def __repr__(self) -> str:
        return f"RangeDataSource(start={self.start}, stop={self.stop}, step={self.step})"

    def _read_one(self, key: int) -> int:
        return self.start + key * self.step

    def _read(self, keys: IndexArray) -> list[int]:
        return (keys * self.step + self.start).tolist()  # type: ignore[no-any-return]
