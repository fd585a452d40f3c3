"""The check that a dataset resumes."""

import numpy as np
import pytest

import grain
from grain import experimental as ex
from grain._src.conformance.equality import same


class Forgetful(grain.IterDataset):
    """Restores one element too far."""

    def __iter__(self):
        return ForgetfulIterator(self._parent.__iter__())


class ForgetfulIterator(grain.DatasetIterator):
    def __next__(self):
        return next(self._parent)

    def get_state(self):
        return self._parent.get_state()

    def set_state(self, state):
        self._parent.set_state(state)
        next(self._parent, None)


def stream(length):
    return grain.MapDataset.range(length).to_iter_dataset(grain.ReadOptions(0, 0))


def test_a_dataset_that_resumes_passes():
    ex.assert_equal_output_after_checkpoint(stream(5).batch(2))
    ex.assert_equal_output_after_checkpoint(grain.MapDataset.range(5))
    ex.assert_equal_output_after_checkpoint(iter(stream(5)))


def test_a_dataset_that_does_not_resume_is_told_where():
    with pytest.raises(AssertionError, match="restored after 0 elements"):
        ex.assert_equal_output_after_checkpoint(Forgetful(stream(5)))


def test_an_endless_dataset_is_looked_at_as_far_as_needed():
    ex.assert_equal_output_after_checkpoint(grain.MapDataset.range(3).repeat())


def test_nothing_cannot_be_checked():
    with pytest.raises(AssertionError, match="did not produce any elements"):
        ex.assert_equal_output_after_checkpoint(stream(0))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ({"a": np.arange(3)}, {"a": np.arange(3)}, True),
        ({"a": np.arange(3)}, {"a": np.arange(3.0)}, False),
        ({"a": 1}, {"b": 1}, False),
        ([1, (2, "x")], [1, (2, "x")], True),
        ([1, 2], [1], False),
        (np.array([np.nan]), np.array([np.nan]), True),
        (float("nan"), float("nan"), True),
        (1, True, False),
        (np.array([None, "a"], object), np.array([None, "a"], object), True),
        (np.zeros(1), 0.0, False),
    ],
)
def test_elements_are_compared_deeply(one, other, expected):
    assert same(one, other) is expected
