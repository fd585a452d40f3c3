"""What a user's function raises keeps its type, comes at its own element, and says where it comes from."""

import functools
import itertools

import numpy as np
import pytest

import grain
from grain.experimental import FlatMapIterDataset, FlatMapMapDataset
from grain.transforms import DatasetSelectionMap, FlatMap, Map

M = grain.MapDataset
READERS = [grain.ReadOptions(0, 0), grain.ReadOptions(1, 4), grain.ReadOptions(4, 50)]


class Oops(Exception):
    pass


class Interrupted(KeyboardInterrupt):
    pass


def fail_on_5(x):
    if x == 5:
        raise Oops(f"five: {x}")
    return x


def fail_on_5_of(kind):
    def function(*args):
        value = args[1] if kind == "index" else args[0]
        fail_on_5(value)
        return True if kind == "filter" else value

    return function


class Selection(DatasetSelectionMap):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        return 0, fail_on_5(index)


class FailingSource:
    def __len__(self):
        return 12

    def __getitem__(self, index):
        return fail_on_5(int(index))


class FailingBlocks(FailingSource):
    def __getitems__(self, indices):
        return [self[index] for index in indices]


class Own(M):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self.slice(index)
        return fail_on_5(index)


class Flat(FlatMap):
    max_fan_out = 1

    def flat_map(self, element):
        return [fail_on_5(element)]


class AsClass(Map):
    def map(self, element):
        return fail_on_5(element)


# name: (pipeline over 0…11 that fails at 5, what the note must name)
RANDOM_ACCESS = {
    "source": (lambda: M.source(FailingSource()), "source(FailingSource"),
    "blocks": (lambda: M.source(FailingBlocks()), "source(FailingBlocks"),
    "map": (lambda: M.range(12).map(fail_on_5), "`map("),
    "map class": (lambda: M.range(12).map(AsClass()), "AsClass"),
    "partial": (lambda: M.range(12).map(functools.partial(fail_on_5)), "partial(fail_on_5)"),
    "map of map": (lambda: M.range(12).map(lambda x: x).map(fail_on_5).map(lambda x: x), "fail_on_5"),
    "map over holes": (lambda: M.range(12).map(lambda x: x).filter(lambda x: True).map(fail_on_5), "fail_on_5"),
    "random_map": (lambda: M.range(12).random_map(fail_on_5_of("rng"), seed=1), "`random_map("),
    "map_with_index": (lambda: M.range(12).map_with_index(fail_on_5_of("index")), "`map_with_index("),
    "filter": (lambda: M.range(12).filter(fail_on_5_of("filter")), "`filter("),
    "flat_map": (lambda: FlatMapMapDataset(M.range(12), Flat()), "`flat_map("),
    "select": (lambda: M.select_from_datasets([M.range(12)], Selection()), "`select_from_datasets("),
    "select below": (lambda: M.select_from_datasets([M.range(12)], Selection()).map(lambda x: x), "select_from_d"),
    "picks": (lambda: M.range(12).slice(M.range(12).map(fail_on_5)), None),
    "own class": (lambda: Own(), "`Own`"),
    "under own class": (lambda: M.concatenate([Own()]).map(lambda x: x), "`Own`"),
    "mixed": (lambda: M.mix([M.range(12).map(fail_on_5), M.range(12)]).map(lambda x: x)[::2], "fail_on_5"),
    "sliced": (lambda: M.range(1, 13).map(lambda x: x - 1).map(fail_on_5)[:12], "fail_on_5"),
}
STREAM = {
    "stream map": (lambda ds: ds.map(fail_on_5), "`map("),
    "stream filter": (lambda ds: ds.filter(fail_on_5_of("filter")), "`filter("),
    "stream random_map": (lambda ds: ds.random_map(fail_on_5_of("rng"), seed=1), "`random_map("),
    "stream map_with_index": (lambda ds: ds.map_with_index(fail_on_5_of("index")), "`map_with_index("),
    "stream flat_map": (lambda ds: FlatMapIterDataset(ds, Flat()), None),
    "second step": (lambda ds: ds.map(lambda x: x).map(fail_on_5).filter(lambda x: True), "fail_on_5"),
}


def outcomes(ds, most=16):
    """What each `next` gives, an error by its type, with the state after it."""
    seen = []
    with iter(ds) as it:
        for _ in range(most):
            try:
                seen.append((next(it), it.get_state()))
            except StopIteration:
                seen.append("end")
                break
            except (Exception, Interrupted) as error:
                seen.append((type(error).__name__, str(error), it.get_state()))
    return seen


def note_of(error):
    notes = [note for note in getattr(error, "__notes__", []) if note.startswith("grain: raised")]
    assert len(notes) == 1, getattr(error, "__notes__", [])
    return notes[0]


@pytest.mark.parametrize("name", RANDOM_ACCESS)
@pytest.mark.parametrize("options", READERS, ids=["inline", "one thread", "threads"])
def test_with_random_access_the_error_comes_at_its_element_and_again_when_asked_again(name, options):
    make, _ = RANDOM_ACCESS[name]
    seen = outcomes(make().to_iter_dataset(options), 10)
    assert [entry[0] for entry in seen] == [0, 1, 2, 3, 4, "Oops", "Oops", "Oops", "Oops", "Oops"]
    assert seen[5][2] == seen[4][1] == {"next_index": 5}


@pytest.mark.parametrize("name", RANDOM_ACCESS)
def test_the_note_names_transformation_index_and_record(name):
    make, culprit = RANDOM_ACCESS[name]
    for read in (lambda ds: list(ds.to_iter_dataset(READERS[0])), list, lambda ds: ds[:][5]):
        with pytest.raises(Oops, match="five: 5") as caught:
            read(make())
        note = note_of(caught.value)
        assert "for element 5 of the pipeline" in note
        if culprit is not None:
            assert culprit in note
        if name not in ("select", "select below", "sliced"):
            assert "record 5 of" in note
        assert any(frame.name == "fail_on_5" for frame in caught.traceback), "the user's own frames are kept"


@pytest.mark.parametrize("name", STREAM)
@pytest.mark.parametrize("options", READERS, ids=["inline", "one thread", "threads"])
def test_in_a_stream_the_error_comes_at_its_element_and_the_stream_goes_on_after_it(name, options):
    make, _ = STREAM[name]
    seen = outcomes(make(M.range(12).to_iter_dataset(options)))
    assert [entry[0] for entry in seen] == [0, 1, 2, 3, 4, "Oops", 6, 7, 8, 9, 10, 11, "e"]


@pytest.mark.parametrize("name", STREAM)
def test_the_note_of_a_step_names_transformation_position_and_record(name):
    make, culprit = STREAM[name]
    with pytest.raises(Oops) as caught:
        list(make(M.range(3, 12).to_iter_dataset()))
    if culprit is not None:
        assert f"{culprit}" in note_of(caught.value)
        assert "at position 2, made of record 2 of range(3, 12, 1)" in note_of(caught.value)


def test_a_batch_names_the_first_of_its_records():
    with pytest.raises(Oops) as caught:
        list(M.range(12).shuffle(seed=1).map(fail_on_5).batch(4))
    assert "made of record" in note_of(caught.value)
    assert "…" in note_of(caught.value)


@pytest.mark.parametrize("options", READERS, ids=["inline", "one thread", "threads"])
def test_an_error_inside_a_batch_is_raised_instead_of_it(options):
    with_random_access = outcomes(M.range(12).map(fail_on_5).batch(4, batch_fn=tuple).to_iter_dataset(options), 4)
    assert [entry[0] for entry in with_random_access] == [(0, 1, 2, 3), "Oops", "Oops", "Oops"]
    seen = outcomes(M.range(12).to_iter_dataset(options).map(fail_on_5).batch(4, batch_fn=tuple))
    assert [entry[0] for entry in seen] == [(0, 1, 2, 3), "Oops", (6, 7, 8, 9), (10, 11), "e"]


@pytest.mark.parametrize("options", READERS, ids=["inline", "one thread", "threads"])
@pytest.mark.parametrize(
    "build",
    [
        lambda f: M.range(12).map(f),
        lambda f: M.range(12).map(f).batch(3, batch_fn=tuple),
        lambda f: M.range(12).map(f).filter(lambda x: True),
        lambda f: M.mix([M.range(12).map(f), M.range(12)]),
        lambda f: M.source([0, 1, 2, 3]).map_with_index(lambda i, x: f(x)),
        lambda f: M.range(12).random_map(lambda x, rng: f(x), seed=1),
    ],
)
def test_a_stop_iteration_of_the_users_ends_nothing_silently(build, options):
    def stop(x):
        if x == 3:
            raise StopIteration
        return x

    with pytest.raises(RuntimeError, match="StopIteration"), iter(build(stop).to_iter_dataset(options)) as it:
        list(itertools.islice(it, 30))


@pytest.mark.parametrize("options", [READERS[0], READERS[2]], ids=["inline", "threads"])
def test_a_source_that_returns_another_number_of_records_is_told(options):
    class Wrong:
        def __len__(self):
            return 12

        def __getitem__(self, index):
            return index

        def __getitems__(self, indices):
            return [1]

    with pytest.raises(ValueError, match=r"Wrong.__getitems__ must return one record per index: got 1 for"):
        list(M.source(Wrong()).to_iter_dataset(options))


# What looks at several elements at once is interrupted before it hands out the first of them.
ONE_BY_ONE = sorted(RANDOM_ACCESS.keys() - {"blocks", "select", "select below", "picks"})


# And a flat map begins its element again.
@pytest.mark.parametrize("name", [*ONE_BY_ONE, *sorted(STREAM.keys() - {"stream flat_map"})])
def test_an_interrupt_counts_as_an_error(name, monkeypatch):
    def make():
        if name in STREAM:
            return STREAM[name][0](M.range(12).to_iter_dataset(READERS[0]))
        return RANDOM_ACCESS[name][0]().to_iter_dataset(READERS[0])

    expected = outcomes(make())
    monkeypatch.setitem(globals(), "Oops", Interrupted)
    seen = outcomes(make())
    assert [entry[0] for entry in seen] == ["Interrupted" if entry[0] == "Oops" else entry[0] for entry in expected]
    assert [entry[-1] for entry in seen] == [entry[-1] for entry in expected]


def test_an_error_that_comes_and_goes_can_be_tried_again():
    failures = iter([Oops("not yet"), Oops("not yet")])

    def flaky(x):
        if x == 3 and (error := next(failures, None)):
            raise error
        return x

    with iter(M.range(6).map(flaky).to_iter_dataset(grain.ReadOptions(0, 0))) as it:
        seen = []
        while len(seen) < 6:
            try:
                seen.append(next(it))
            except Oops:
                continue
        assert seen == list(range(6))


def test_one_error_object_gets_one_note():
    error = Oops("the same object each time")

    def raise_it(x):
        raise error

    ds = M.range(3).map(raise_it)
    for _ in range(3):
        with pytest.raises(Oops):
            ds[0]
    assert len(error.__notes__) == 1


def test_errors_of_the_library_in_a_users_function_are_passed_on():
    inner = M.range(3).map(fail_on_5)
    with pytest.raises(TypeError, match="index must be an integer"):
        list(M.range(3).map(lambda x: inner[np.float64(x)]))
