"""The kits find what is wrong with a user's dataset or iterator, and say it."""

import itertools

import pytest

import grain
from grain.testing import check_dataset, check_iterator


class Mine(grain.MapDataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return self.slice(index) if isinstance(index, slice) else index % 4 * 10


class Forgetful(Mine):
    def __init__(self):
        super().__init__()
        self.calls = itertools.count()

    def __getitem__(self, index):
        return next(self.calls)


class Unpicklable(Mine):
    def __init__(self):
        super().__init__()
        self.lock = __import__("threading").Lock()


class Counter(grain.DatasetIterator):
    def __init__(self, stop=6):
        super().__init__()
        self.state = {"count": 0}
        self.stop = stop

    def __next__(self):
        if self.state["count"] >= self.stop:
            raise StopIteration
        self.state = {"count": self.state["count"] + 1}
        return self.state["count"]

    def get_state(self):
        return self.state

    def set_state(self, state):
        self.state = dict(state)


class Stream(grain.IterDataset):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def __iter__(self):
        return self.kind()


class SharesItsState(Counter):
    def __next__(self):
        if self.state["count"] >= self.stop:
            raise StopIteration
        self.state["count"] += 1
        return self.state["count"]


class DoesNotRestore(Counter):
    def set_state(self, state):
        pass


class StateIsNotJson(Counter):
    def get_state(self):
        return {"count": {self.state["count"]}}


class GoesOnAfterTheEnd(Counter):
    def __next__(self):
        try:
            return super().__next__()
        except StopIteration:
            self.state = {"count": 0}
            raise


numbers = itertools.count()


class NeverRepeats(Counter):
    def __next__(self):
        super().__next__()
        return next(numbers)


def test_good_classes_pass():
    check_dataset(Mine())
    check_dataset(Mine().filter(lambda x: x > 10))
    check_iterator(Stream(Counter))


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        (Forgetful(), "differs from one look-up to the next"),
        (Unpicklable(), "cannot be pickled"),
        (grain.MapDataset.range(4).map(lambda x, seen=itertools.count(): next(seen)), "take random numbers from"),
    ],
)
def test_a_broken_dataset_is_found(dataset, message):
    with pytest.raises(AssertionError, match=message):
        check_dataset(dataset)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (SharesItsState, "has changed since"),
        (DoesNotRestore, "restored after 1 elements"),
        (StateIsNotJson, "is not JSON"),
        (GoesOnAfterTheEnd, "gives elements again"),
        (NeverRepeats, "differs from one iterator to the next"),
    ],
)
def test_a_broken_iterator_is_found(kind, message):
    with pytest.raises(AssertionError, match=message):
        check_iterator(Stream(kind))
