"""The iterator over a dataset with random access: runs of elements know the states between them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import grain
from grain._src.engine.reader import ReaderIterator


def dataset(holes, failing=None, threads=0):
    def look(index):
        if index == failing:
            raise ValueError("no")
        return None if holes[index] else index

    return grain.MapDataset.range(len(holes)).map(look).to_iter_dataset(grain.ReadOptions(threads, threads))


def one_by_one(ds):
    """Elements and the states after them; an error in the place of an element, once."""
    it, found = iter(ds), []
    while True:
        try:
            found.append((next(it), it.get_state()))
        except StopIteration:
            return found
        except ValueError as error:
            return [*found, (str(error), it.get_state())]


def by_runs(ds, sizes):
    """The same by runs of `sizes`, which repeat."""
    it, found = iter(ds), []
    assert isinstance(it, ReaderIterator)
    for size in sizes * 100:
        try:
            run = it.pull_run(size)
        except ValueError as error:
            return [*found, (str(error), it.get_state())]
        assert len(run.elements) <= size
        if found:
            assert run.state_after(0) == found[-1][1], "the holes between two runs belong to the later one"
        found += [(element, run.state_after(number)) for number, element in enumerate(run.elements, 1)]
        if run.error is not None:
            return [*found, (str(run.error), it.get_state())]
        if not run.elements:
            return found
    raise AssertionError("it does not end")


HOLES = st.lists(st.booleans(), min_size=1, max_size=40)
SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=4)


@given(HOLES, SIZES, st.sampled_from([0, 2]))
def test_runs_are_what_comes_one_by_one_and_so_are_their_states(holes, sizes, threads):
    ds = dataset(holes, threads=threads)
    assert by_runs(ds, sizes) == one_by_one(ds)


@given(HOLES, SIZES, st.data())
def test_what_comes_before_an_error_is_in_the_run(holes, sizes, data):
    ds = dataset(holes, failing=data.draw(st.integers(0, len(holes) - 1)))
    assert by_runs(ds, sizes) == one_by_one(ds)


@given(HOLES, SIZES, st.integers(0, 40))
def test_a_state_within_a_run_goes_on_with_the_rest(holes, sizes, skip):
    ds = dataset(holes)
    found = by_runs(ds, sizes)[:skip]
    it = iter(ds)
    if found:
        it.set_state(found[-1][1])
    assert [element for element, _ in found] + list(it) == list(ds)


def test_a_run_after_an_error_tries_the_element_again():
    it = iter(dataset([False] * 5, failing=2))
    found = [*it.pull_run(9).elements, *it.pull_run(1).elements]
    assert found == [0, 1]
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            it.pull_run(9)
        assert it.get_state() == {"next_index": 2}
