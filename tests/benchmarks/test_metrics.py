"""How the harness takes numbers from an iterator."""

import time
from collections.abc import Iterator

import pytest

from benchmarks import metrics


class Clock:
    """A clock that only the pipeline moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_cost_counts_only_what_the_items_cost() -> None:
    clock = Clock()

    def items() -> Iterator[None]:
        while True:
            clock.now += 0.5
            yield None

    assert metrics.cost_per_item(items, 0.01, clock=clock) == pytest.approx(0.5)


def test_epoch_shorter_than_the_measurement_is_started_again() -> None:
    starts = 0

    def items() -> Iterator[int]:
        nonlocal starts
        starts += 1
        return iter(range(1_000))

    assert metrics.cost_per_item(items, 0.01) > 0
    assert starts > 1


def test_pipeline_too_short_to_measure_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="ended before anything could be measured"):
        metrics.cost_per_item(lambda: iter([1]), 0.001)


def test_iterator_is_closed_after_a_measurement() -> None:
    closed = []

    def items() -> Iterator[float]:
        try:
            while True:
                yield time.perf_counter()
        finally:
            closed.append(True)

    metrics.rate(items, 0.01)
    assert closed == [True]
