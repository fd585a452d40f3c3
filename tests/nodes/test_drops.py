"""Filters that drop nearly everything: a warning, an error where asked, at the same element whoever computes."""

import warnings

import pytest

import grain
from grain.experimental import DatasetOptions, WithOptionsIterDataset

M = grain.MapDataset
INLINE = grain.ReadOptions(0, 0)


def outcome(ds, limit=None):
    """How many elements came, the state then, and what was said."""
    with warnings.catch_warnings(record=True) as said, iter(ds) as it:
        warnings.simplefilter("always")
        count = 0
        try:
            for _ in it:
                count += 1
            error = None
        except ValueError as raised:
            error = str(raised)
        return count, it.get_state(), error, [str(warning.message) for warning in said]


def raising(ds, ratio):
    return WithOptionsIterDataset(ds, DatasetOptions(filter_raise_threshold_ratio=ratio))


@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize("divisor", [9, 10, 11, 100])
def test_dropping_nine_tenths_and_more_warns_once(divisor, threads):
    options = grain.ReadOptions(threads, 8)
    for ds in (
        M.range(20_000).filter(lambda x: x % divisor == 0).to_iter_dataset(options),
        M.range(20_000).to_iter_dataset(options).filter(lambda x: x % divisor == 0),
        M.range(20_000).map(lambda x: x if x % divisor == 0 else None).to_iter_dataset(options).batch(3),
    ):
        *_, error, said = outcome(ds)
        assert error is None
        assert len(said) == (divisor > 9)
        if said:
            assert "dropped" in said[0]
            assert "filter_warn_threshold_ratio" in said[0]


def test_fewer_than_a_thousand_elements_say_nothing():
    assert outcome(M.range(999).to_iter_dataset().filter(lambda x: False))[2:] == (None, [])
    assert outcome(M.range(999).filter(lambda x: False).to_iter_dataset())[2:] == (None, [])
    assert len(outcome(M.range(1000).to_iter_dataset().filter(lambda x: False))[3]) == 1


def test_the_warning_can_be_turned_off():
    ds = M.range(5000).to_iter_dataset().filter(lambda x: False)
    for ratio in (None, 0):
        options = DatasetOptions(filter_warn_threshold_ratio=ratio)
        assert outcome(WithOptionsIterDataset(ds, options)) == (0, {"next_index": 5000}, None, [])


# What the reference does, release 0.2.18: (elements before the error, the state with it).
@pytest.mark.parametrize(
    ("keep", "ratio", "expected"),
    [
        (lambda x: False, 0.5, (0, 1000)),
        (lambda x: x % 3 == 0, 0.5, (333, 1000)),
        (lambda x: x % 2 == 0, 0.5, (500, 1000)),
        (lambda x: x < 5500, 0.5, (5500, 6000)),
        (lambda x: not 1200 <= x < 1900, 0.5, (1299, 2000)),
        (lambda x: x % 1000 != 7, 0.0, None),
        (lambda x: x % 3 == 0, 0.9, None),
        (lambda x: x % 3 == 0, None, None),
    ],
)
@pytest.mark.parametrize("where", ["stream", "random access", "map"])
@pytest.mark.parametrize("threads", [0, 2])
def test_dropping_as_much_as_the_limit_is_an_error_at_the_end_of_its_thousand(keep, ratio, expected, where, threads):
    read = grain.ReadOptions(threads, 50)
    if where == "stream":
        ds = M.range(20_000).to_iter_dataset(read).filter(keep)
    elif where == "random access":
        ds = M.range(20_000).filter(keep).to_iter_dataset(read)
    else:
        ds = M.range(20_000).map(lambda x: x if keep(x) else None).to_iter_dataset(read)
    count, state, error, _ = outcome(raising(ds, ratio))
    if expected is None:
        assert error is None
    else:
        assert (count, state) == (expected[0], {"next_index": expected[1]})
        assert "dropped" in error
        assert "filter_raise_threshold_ratio=50.00%" in error


def test_the_outermost_options_win_and_hold_for_the_whole_pipeline():
    ds = M.range(5000).to_iter_dataset(INLINE).filter(lambda x: x % 3 == 0)
    assert outcome(raising(raising(ds, 0.5), 0.9))[2] is None
    assert outcome(raising(raising(ds, 0.9), 0.5))[2] is not None
    below = raising(M.range(5000).to_iter_dataset(INLINE), 0.5).filter(lambda x: x % 3 == 0)
    assert outcome(below)[:2] == (333, {"next_index": 1000})


PIPELINES = [
    lambda: M.range(4000).to_iter_dataset(INLINE).filter(lambda x: x % 3 == 0),
    lambda: M.range(4000).filter(lambda x: x % 3 == 0).to_iter_dataset(INLINE).map(str).batch(7, batch_fn=list),
    lambda: M.range(4000).filter(lambda x: x % 2).to_iter_dataset(INLINE).filter(lambda x: x < 1500).map(str),
    lambda: M.range(4000).to_iter_dataset(INLINE).batch(2, batch_fn=sum).filter(lambda x: x < 1500).map(str),
]


@pytest.mark.parametrize("make", PIPELINES)
def test_with_workers_the_error_comes_at_the_same_element(make):
    expected = outcome(raising(make(), 0.55))
    assert expected[2] is not None
    workers = grain.MultiprocessingOptions(num_workers=1)
    assert outcome(raising(make(), 0.55).mp_prefetch(workers)) == expected
    assert outcome(raising(make().mp_prefetch(workers), 0.55)) == expected


def test_with_workers_the_warning_is_given_in_the_training_process():
    workers = grain.MultiprocessingOptions(num_workers=1)
    for ds in (
        M.range(20_000).filter(lambda x: x % 50 == 0).to_iter_dataset(),
        M.range(20_000).to_iter_dataset().filter(lambda x: x % 50 == 0),
    ):
        count, _, error, said = outcome(ds.mp_prefetch(workers))
        assert (count, error, len(said)) == (400, None, 1)
