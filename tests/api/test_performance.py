"""Options out of measurements."""

import numpy as np
import pytest

import grain
from grain import experimental as ex
from grain._src.api.performance import Measurement, choose

MB = 1 << 20


def options(measured, budget=1024 * MB, most_workers=8, most_buffered=500):
    config = choose(measured, budget, most_workers, most_buffered)
    return config.multiprocessing_options, config.read_options, config.reason


def test_cheap_elements_get_no_workers():
    processes, _, reason = options(Measurement(5, computing=2e-6, waiting=0.0, size=100))
    assert processes.num_workers == 0
    assert "No workers" in reason


def test_long_computations_get_as_many_workers_as_allowed():
    processes, _, reason = options(Measurement(5, computing=0.05, waiting=0.0, size=MB))
    assert processes.num_workers == 8
    assert "It computes long enough for workers: 8" in reason


def test_waiting_gets_threads_and_no_workers():
    processes, reading, reason = options(Measurement(5, computing=1e-4, waiting=2e-3, size=1000))
    assert processes.num_workers == 0
    assert reading.num_threads == 21
    assert "mostly waits" in reason


def test_elements_in_flight_stay_within_the_budget():
    for budget in (4, 10, 100, 1000):
        processes, reading, _ = options(Measurement(5, computing=0.1, waiting=0.0, size=2 * MB), budget=budget * MB)
        assert 2 * processes.num_workers * (processes.per_worker_buffer_size + 1) <= budget
        assert 2 * reading.prefetch_buffer_size <= budget


def test_a_budget_below_one_element_reads_nothing_ahead():
    processes, reading, reason = options(Measurement(5, computing=0.1, waiting=0.0, size=2 * MB), budget=MB)
    assert (processes.num_workers, reading.num_threads) == (0, 0)
    assert "does not hold one element" in reason


def test_the_pipeline_is_measured_in_this_thread_and_only_a_few_elements():
    seen = []
    ds = grain.MapDataset.range(100).map(lambda x: (seen.append(x), np.zeros(1000))[1]).to_iter_dataset()
    ds = ds.mp_prefetch(grain.MultiprocessingOptions(num_workers=4))
    config = ex.pick_performance_config(ds, ram_budget_mb=100, max_workers=4, max_buffer_size=10, samples_to_check=3)
    assert seen == [0, 1, 2, 3]  # one to warm up
    assert config.read_options.prefetch_buffer_size == 10
    assert "(3 measured)" in config.reason


def test_limits_may_be_left_open_and_datasets_empty():
    ds = grain.MapDataset.range(3)
    assert ex.pick_performance_config(ds, ram_budget_mb=None, max_workers=None, max_buffer_size=None).reason
    empty = grain.MapDataset.range(0).to_iter_dataset()
    config = ex.pick_performance_config(empty, ram_budget_mb=1, max_workers=1, max_buffer_size=1)
    assert "no elements" in config.reason


def test_packing_and_interleaving_are_measured_too():
    parts = [grain.MapDataset.source([{"x": np.arange(3)}] * 9).to_iter_dataset() for _ in range(2)]
    ds = ex.FirstFitPackIterDataset(
        ex.InterleaveIterDataset(parts, cycle_length=2), length_struct={"x": 8}, num_packing_bins=2
    )
    assert ex.pick_performance_config(ds, ram_budget_mb=100, max_workers=4, max_buffer_size=10).reason


@pytest.mark.parametrize(
    ("change", "message"),
    [({"samples_to_check": 0}, "samples_to_check must be"), ({"ram_budget_mb": -1}, "ram_budget_mb must be")],
)
def test_bad_arguments_are_named(change, message):
    given = {"ram_budget_mb": 1, "max_workers": 1, "max_buffer_size": 1, **change}
    with pytest.raises(ValueError, match=message):
        ex.pick_performance_config(grain.MapDataset.range(3), **given)
