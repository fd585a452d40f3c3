"""How the harness takes numbers from an iterator."""

import gc
import itertools
import time
import weakref
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

    costs = metrics.cost_per_item(items, 0.01, 0.0, clock=clock)
    assert next(costs) == pytest.approx(0.5)


def test_epoch_shorter_than_the_measurement_is_started_again() -> None:
    starts = 0

    def items() -> Iterator[int]:
        nonlocal starts
        starts += 1
        return iter(range(1_000))

    assert next(metrics.cost_per_item(items, 0.01, 0.0)) > 0
    assert starts > 1


def test_every_start_is_followed_by_a_warm_up() -> None:
    clock, starts = Clock(), 0

    def items() -> Iterator[None]:
        nonlocal starts
        starts += 1
        began = time.perf_counter()
        while (age := time.perf_counter() - began) < 0.3:
            clock.now += 100 if age < 0.01 else 1
            yield None

    costs = metrics.cost_per_item(items, 0.02, 0.04, clock=clock)
    while starts < 3:
        assert next(costs) == 1


def test_an_epoch_shorter_than_the_warm_up_is_measured_from_its_start() -> None:
    assert next(metrics.cost_per_item(lambda: iter(range(1_000)), 0.01, 0.5)) > 0


def test_a_pipeline_goes_on_running_between_two_measurements() -> None:
    starts = 0

    def items() -> Iterator[int]:
        nonlocal starts
        starts += 1
        return itertools.count()

    rates = metrics.rate(items, 0.005, 0.005)
    assert all(next(rates) > 0 for _ in range(3))
    assert starts == 1


def test_what_is_measured_anew_has_a_pipeline_of_its_own_each_time() -> None:
    numbers = metrics.anew(lambda make, _seconds: float(next(iter(make()))))(lambda: [next(counts)], 0.01, 0.0)
    counts = itertools.count()
    assert [next(numbers), next(numbers)] == [0, 1]


def test_pipeline_too_short_to_measure_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="ended before anything could be measured"):
        next(metrics.cost_per_item(lambda: iter([1]), 0.001, 0.0))


def test_iterator_is_closed_after_the_last_measurement() -> None:
    closed = []

    def items() -> Iterator[float]:
        try:
            while True:
                yield time.perf_counter()
        finally:
            closed.append(True)

    rates = metrics.rate(items, 0.01, 0.0)
    next(rates)
    assert closed == []
    del rates
    assert closed == [True]


def test_first_item_does_not_pay_for_what_was_made_before() -> None:
    garbage: list[weakref.ref[object]] = []
    left = []

    class Dataset:
        def __iter__(self) -> Iterator[int]:
            left.extend(ref() for ref in garbage)
            return iter([1])

    def make() -> Dataset:
        cycle = Clock()
        cycle.itself = cycle  # type: ignore[attr-defined]
        garbage.append(weakref.ref(cycle))
        return Dataset()

    gc.disable()
    try:
        assert metrics.first_item(make, 0.0) >= 0
    finally:
        gc.enable()
    assert left == [None]
