"""Users' own datasets and iterators work at every place of a pipeline, also when workers compute around them."""

import gc
import threading

import pytest

import grain

M, I = grain.MapDataset, grain.IterDataset  # noqa: E741


class Squares(M):
    """No parent: a source of its own."""

    def __init__(self, count):
        super().__init__()
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self.slice(index)
        return (index % self.count) ** 2


class Every(M):
    """One parent: every `step`-th element."""

    def __init__(self, parent, step):
        super().__init__(parent)
        self.step = step

    def __len__(self):
        return len(self._parent) // self.step

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self.slice(index)
        epoch, offset = divmod(index, len(self))
        return self._parent[epoch * len(self._parent) + offset * self.step]


class Pairs(M):
    """Several parents."""

    def __len__(self):
        return min(len(parent) for parent in self._parents)

    def __getitem__(self, index):
        return tuple(parent[index] for parent in self.parents)


class Countdown(I):
    """No parent: a stream with a state of its own."""

    def __init__(self, start):
        super().__init__()
        self.start = start

    def __iter__(self):
        return CountdownIterator(self.start)


class CountdownIterator(grain.DatasetIterator):
    def __init__(self, start):
        super().__init__()
        self.left = start

    def __next__(self):
        if not self.left:
            raise StopIteration
        self.left -= 1
        return self.left

    def get_state(self):
        return {"left": self.left}

    def set_state(self, state):
        self.left = state["left"]


class RunningSum(I):
    """One parent, which it starts itself."""

    def __iter__(self):
        return RunningSumIterator(self._parent.__iter__())


class RunningSumIterator(grain.DatasetIterator):
    position = "a name of the user's own"

    def __init__(self, parent):
        super().__init__(parent)
        self.total = 0

    def __next__(self):
        self.total += next(self._parent)
        return self.total

    def get_state(self):
        return {"parent": self._parent.get_state(), "total": self.total}

    def set_state(self, state):
        self._parent.set_state(state["parent"])
        self.total = state["total"]


PIPELINES = {
    "source": lambda: Squares(5).to_iter_dataset(),
    "under map": lambda: Squares(5).map(lambda x: x + 1).shuffle(seed=1).batch(2).to_iter_dataset(),
    "in the middle": lambda: Every(M.range(12).shuffle(seed=3), 3).map(lambda x: x * 10).repeat(2).to_iter_dataset(),
    "sliced": lambda: Every(Squares(9), 2)[1:].to_iter_dataset(),
    "mixed": lambda: M.mix([Squares(4), Every(M.range(8), 2)]).to_iter_dataset(),
    "several parents": lambda: Pairs([Squares(4), M.range(10)]).filter(lambda pair: pair[0] != 4).to_iter_dataset(),
    "random": lambda: Squares(6).seed(1).random_map(lambda x, rng: x + int(rng.integers(9))).to_iter_dataset(),
    "a stream": lambda: Countdown(6),
    "a stream, then steps": lambda: Countdown(9).map(lambda x: x * 2).filter(lambda x: x % 3).batch(2),
    "a stream, then random": lambda: Countdown(6).random_map(lambda x, rng: (x, int(rng.integers(99))), seed=2),
    "over a stream": lambda: RunningSum(M.range(7).to_iter_dataset()),
    "over steps": lambda: RunningSum(M.range(9).to_iter_dataset().filter(lambda x: x % 2)).map(lambda x: -x).batch(2),
    "over random access": lambda: RunningSum(Squares(4)),
    "over a stream, then random": lambda: RunningSum(M.range(7).to_iter_dataset()).random_map(
        lambda x, rng: (x, int(rng.integers(99))), seed=2
    ),
    "twice": lambda: RunningSum(RunningSum(Countdown(5))).map_with_index(lambda i, x: (i, x)),
    "mixed streams": lambda: I.mix([Countdown(4), RunningSum(M.range(9).to_iter_dataset())]),
}


def plain(element):
    return element.tolist() if hasattr(element, "tolist") else element


def run(ds):
    with iter(ds) as it:
        states = [it.get_state()]
        elements = []
        for element in it:
            elements.append(plain(element))
            states.append(it.get_state())
    return elements, states


@pytest.mark.parametrize("name", PIPELINES)
def test_it_runs_and_resumes_at_every_element(name):
    ds = PIPELINES[name]()
    elements, states = run(ds)
    assert elements
    for at, state in enumerate(states):
        with iter(ds) as it:
            it.set_state(state)
            assert [plain(element) for element in it] == elements[at:]


def test_expected_values():
    assert run(PIPELINES["in the middle"]())[0] == [10 * M.range(12).shuffle(seed=3)[i] for i in range(0, 24, 3)]
    assert run(PIPELINES["over steps"]())[0] == [[-1, -4], [-9, -16]]
    assert run(PIPELINES["mixed streams"]())[0] == [3, 0, 2, 1, 1, 3, 0, 6]
    assert run(PIPELINES["a stream, then random"]())[0] == [
        (5 - i, drawn) for i, drawn in M.range(6).random_map(lambda x, rng: (x, int(rng.integers(99))), seed=2)
    ]


@pytest.mark.parametrize("workers", [0, 2])
def test_workers_change_nothing(workers):
    for name, make in PIPELINES.items():
        ds = make().mp_prefetch(grain.MultiprocessingOptions(num_workers=workers))
        assert run(ds) == run(make()), name


def test_an_attribute_called_position_is_the_users_own():
    ds = RunningSum(M.range(7).to_iter_dataset()).map(lambda x: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        next(iter(ds))


def test_iter_that_returns_something_else_is_refused():
    class Wrong(I):
        def __iter__(self):
            return iter([1, 2])

    with pytest.raises(TypeError, match=r"Wrong.__iter__ must return a grain.DatasetIterator, got list_iterator"):
        iter(Wrong().map(str))


def test_closing_the_end_of_a_pipeline_closes_its_beginning():
    before = set(threading.enumerate())
    it = iter(RunningSum(M.range(9).to_iter_dataset()).map(lambda x: x))
    next(it)
    it.close()
    with pytest.raises(ValueError, match="closed iterator"):
        next(it)
    gc.collect()
    assert set(threading.enumerate()) <= before


def test_a_subclass_that_never_calls_init_still_works():
    class Bare(M):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            return index % 2

    assert list(Bare().map(lambda x: x + 1)) == [1, 2]
    assert list(Bare()) == [0, 1]
    assert "Bare" in repr(Bare().map(str))
