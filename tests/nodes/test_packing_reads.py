"""What packing reads of the stream above it: rows and states do not depend on how much at a time."""

import threading
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grain
from grain import experimental as ex
from grain._src import columns
from grain._src.columns import Part
from grain._src.conformance.equality import same
from grain._src.engine.reader import ReaderIterator
from grain._src.nodes import at_once
from grain._src.nodes.packing_features import DocumentReader, features_of
from grain._src.nodes.packing_rows import Like, pack_values

INLINE = grain.ReadOptions(0, 0)
LENGTH = 10


def documents(lengths, read_options=INLINE):
    """Documents of these lengths; where it is 0 there is none, and -1 stands for an error."""

    def make(number):
        length = lengths[number]
        if length < 0:
            raise ValueError(f"document {number}")
        return {"x": np.arange(length) + 100 * number} if length else None

    return grain.MapDataset.range(len(lengths)).map(make).to_iter_dataset(read_options)


def pack(ds, bins=4, **options):
    options = {"length_struct": {"x": LENGTH}, "num_packing_bins": bins, "shuffle_bins": False, **options}
    return ex.FirstFitPackIterDataset(ds, **options)


LENGTHS = st.lists(st.integers(0, LENGTH), max_size=60)
OPTIONS = st.fixed_dictionaries({"bins": st.integers(1, 6), "max_sequences_per_bin": st.none() | st.integers(1, 3)})


@pytest.fixture(scope="module")
def without_runs():
    """Has the stream above packing read element by element."""

    def switch():
        patch = pytest.MonkeyPatch()
        patch.setattr(ReaderIterator, "pull_run", lambda self, count: None)
        return patch

    return switch


@given(LENGTHS, OPTIONS)
def test_rows_and_states_are_the_same_read_at_once_or_one_by_one(steps, without_runs, lengths, options):
    ds = pack(documents(lengths), **options)
    at_once = steps(ds)
    patch = without_runs()
    try:
        assert same(at_once, steps(ds))
    finally:
        patch.undo()


@given(LENGTHS, OPTIONS)
def test_every_state_goes_on_where_it_was_taken(steps, lengths, options):
    ds = pack(documents(lengths), **options)
    every = steps(ds)
    it = iter(ds)
    for number, (_, state) in enumerate(every, 1):
        it.set_state(state)
        assert same(list(it), [row for row, _ in every[number:]])


@pytest.mark.parametrize("place", range(0, 40, 3))
def test_an_error_further_on_does_not_hold_back_the_rows_before_it(place):
    lengths = [3, 8, 0, 5, 2, 9, 1, 7] * 5
    failing = pack(documents([*lengths[:place], -1, *lengths[place:]]))
    it, before = iter(failing), []
    with pytest.raises(ValueError, match=f"document {place}"):
        while True:
            before.append(next(it))
    assert len(before) % 4 == 0, "the groups before it are complete"
    assert same([row["x"] % 100 for row in before], [row["x"] % 100 for row in pack(documents(lengths))][: len(before)])
    with pytest.raises(ValueError, match=f"document {place}"):
        next(it)


@pytest.mark.parametrize("workers", [1, 3])
def test_workers_and_threads_change_neither_rows_nor_states(steps, workers):
    lengths = [3, 8, 0, 5, 2, 9, 0, 0, 1, 7] * 6
    inline = steps(pack(documents(lengths)))
    assert same(inline, steps(pack(documents(lengths, grain.ReadOptions(4, 20)))))
    spread = pack(documents(lengths)).mp_prefetch(grain.MultiprocessingOptions(num_workers=workers))
    assert same(inline, steps(spread))


def test_slow_documents_are_not_read_before_they_are_needed(monkeypatch):
    monkeypatch.setattr(at_once, "_QUICK_SECONDS", 0.0)
    asked = []
    ds = grain.MapDataset.range(100).map(lambda i: asked.append(i) or {"x": np.arange(6)}).to_iter_dataset(INLINE)
    it = iter(pack(ds, bins=5))
    for row in range(20):
        next(it)
        assert len(asked) == row // 5 * 5 + 6


def test_an_interrupt_is_not_kept_for_later_and_loses_nothing():
    hits = iter([True])
    main = threading.get_ident()

    def make(number):
        if number == 20 and next(hits, False):
            assert threading.get_ident() == main
            raise KeyboardInterrupt
        return {"x": np.arange(3) + 100 * number}

    ds = pack(grain.MapDataset.range(60).map(make).to_iter_dataset(INLINE), bins=2)
    it = iter(ds)
    found = []
    with pytest.raises(KeyboardInterrupt):
        while True:
            found.append(next(it))
    assert next(hits, None) is None
    found += it
    assert same(found, list(ds))


# Law two: neither threads nor workers change a row, a batch, the place of an error or a state.

PACKERS = {
    "first fit": lambda ds, lengths: ex.FirstFitPackIterDataset(ds, length_struct=lengths, num_packing_bins=3),
    "best fit": lambda ds, lengths: ex.BestFitPackIterDataset(ds, length_struct=lengths, num_packing_bins=3),
    "split": lambda ds, lengths: ex.ConcatThenSplitIterDataset(ds, length_struct=lengths),
}


@pytest.mark.parametrize("batch", [0, 3])
@pytest.mark.parametrize("names", ["x", "xy"])
@pytest.mark.parametrize("packer", PACKERS.values(), ids=PACKERS)
def test_rows_errors_and_states_are_the_same_with_threads_and_workers(steps, packer, names, batch):
    def make(number):
        if number % 11 == 4:
            return None
        length = number * 7 % LENGTH + 1
        wrong = {} if number % 23 else {"x": "no vector"}
        return {name: np.arange(length + (name == "y" and number % 3 == 0)) + 100 * number for name in names} | wrong

    def run(options, workers=0):
        ds = packer(grain.MapDataset.range(70).map(make).to_iter_dataset(options), dict.fromkeys(names, LENGTH + 1))
        ds = ds.batch(batch) if batch else ds
        return steps(ds.mp_prefetch(grain.MultiprocessingOptions(workers)) if workers else ds)

    inline = run(INLINE)
    assert sum(isinstance(row, dict) for row, _ in inline) > 8
    assert same(inline, run(grain.ReadOptions(4, 20)))
    assert same(inline, run(grain.ReadOptions()))
    for workers in (1, 3):
        assert same(inline, run(INLINE, workers))


# Many documents come from workers by columns, and are packed from there.


def many(names, wrong=None):
    """Documents of which some are not there; from the one that is wrong on, each tenth has another dtype."""

    def make(number):
        if number % 11 == 4:
            return None
        if number == wrong:
            return dict.fromkeys(names, "no vector")
        length = number * 7 % LENGTH + 1
        dtype = np.int64 if wrong is None or number < wrong or number % 10 else np.int16
        return {name: np.arange(length + (name == "y" and number % 3 == 0), dtype=dtype) + number for name in names}

    return grain.MapDataset.range(2_000).map(make)


@pytest.mark.parametrize("wrong", [None, 1_501])
@pytest.mark.parametrize("names", ["x", "xy", "xz"])
@pytest.mark.parametrize("packer", PACKERS.values(), ids=PACKERS)
def test_documents_that_come_by_columns_give_the_same_rows_errors_and_states(steps, packer, names, wrong):
    def run(workers, after):
        ds = many(names, wrong).to_iter_dataset(INLINE)
        mp = grain.MultiprocessingOptions(workers)
        ds = ds.mp_prefetch(mp) if not after else ds
        ds = packer(ds, dict.fromkeys(names, LENGTH + 1))
        return steps(ds.mp_prefetch(mp) if after else ds)

    inline = run(0, True)
    assert len(inline) > 300
    assert any(isinstance(row, str) for row, _ in inline) == (wrong is not None)
    assert same(inline, run(2, True))
    assert same(inline, run(1, False))


def test_what_comes_by_columns_can_be_had_by_runs_and_one_by_one():
    ds = many("x").to_iter_dataset(INLINE)
    inline = iter(ds)
    every = [(element, inline.get_state()) for element in inline]
    with iter(ds.mp_prefetch(grain.MultiprocessingOptions(1))) as it:
        number, parts = 0, 0
        while number < len(every):
            run = it.pull_run(50)
            parts += isinstance(run.elements, Part)
            for place, element in enumerate(run.elements, 1):
                assert same(element, every[number + place - 1][0])
                assert run.state_after(place) == every[number + place - 1][1]
            number += len(run.elements)
            assert it.get_state() == every[number - 1][1]
            for element in islice(it, number % 2 * 3):
                assert same((element, it.get_state()), every[number])
                number += 1
        assert not it.pull_run(50).elements
    assert parts, "some came by columns"


def test_a_state_within_a_block_that_came_by_columns_goes_on_there():
    ds = pack(many("x").to_iter_dataset(INLINE)).mp_prefetch(grain.MultiprocessingOptions(1))
    with iter(ds) as it:
        rows = [(row, it.get_state()) for row in it]
        for number in (0, 1, 150, 151, 152, len(rows) - 2):
            it.set_state(rows[number][1])
            assert same(list(islice(it, 8)), [row for row, _ in rows[number + 1 : number + 9]])


def test_only_groups_that_are_soon_complete_keep_parts_of_what_came_by_columns():
    packed = columns.pack([{"x": np.arange(i % 7)} for i in range(300)])
    reader = DocumentReader(features_of({"x": LENGTH}))
    for brief in (True, False):
        vectors = reader.read_vectors(packed.part(0, 64), brief)
        assert vectors.lengths == [[i % 7 for i in range(64)]]
        assert brief == any(np.shares_memory(vector, packed.columns[0].values) for vector in vectors.arrays[0])
    large = pack(documents([]), bins=1 << 20)
    small = pack(documents([]), bins=4)
    assert [iter(ds)._brief for ds in (small, large)] == [True, False]


DTYPES = ["i1", "?", "f2", "f8", ">i4", "c8", "M8[s]", "U3", "O", [("a", "i2"), ("b", "f4")]]
WIDTH = 12


def of_dtype(first, then, step=1):
    """Documents of one dtype, and of another one from the middle on; with a step there are gaps in their memory."""

    def make(number):
        length = number * 7 % LENGTH + 1
        dtype = first if number < 1_000 else then
        return {"x": (np.arange(length * step) % 100 + number % 20).astype("i1").astype(dtype)[::step]}

    return grain.MapDataset.range(2_000).map(make)


def by_hand(ds):
    """What `pack` makes of documents, written down as plainly as possible."""
    rows, dtype = [[]], None
    for document in ds:
        place = next((row for row in rows if sum(map(len, row)) + len(document["x"]) <= WIDTH), None)
        if place is None and len(rows) == 4:
            yield from (_row(row, dtype) for row in rows)
            rows, dtype = [], None
        if place is None:
            rows.append(place := [])
        place.append(document["x"])
        dtype = dtype or document["x"].dtype
    yield from (_row(row, dtype) for row in rows)


def _row(parts, dtype):
    row = {"x": np.zeros(WIDTH, dtype)}
    marks = {name: np.zeros(WIDTH, np.int32) for name in ("x_segment_ids", "x_positions")}
    end = 0
    for segment, part in enumerate(parts, 1):
        place = slice(end, end := end + len(part))
        row["x"][place] = part.astype(dtype)
        marks["x_segment_ids"][place], marks["x_positions"][place] = segment, np.arange(len(part))
    return {**row, **marks}


# A dtype of its own, or another one later, where a number can become one of the first.
TWO_DTYPES = [(dtype, dtype) for dtype in DTYPES] + [
    (dtype, "f4") for dtype in DTYPES if np.dtype(dtype).kind not in "MUV"
]


@pytest.mark.parametrize(("first", "then"), TWO_DTYPES, ids=str)
def test_tokens_of_any_dtype_are_packed_as_by_hand(first, then):
    for step in (1, 2):
        ds = of_dtype(first, then, step)
        expected = list(by_hand(ds.to_iter_dataset(INLINE)))
        packed = pack(ds.to_iter_dataset(INLINE), length_struct={"x": WIDTH})
        assert same(list(packed), expected)
        assert same(list(packed.mp_prefetch(grain.MultiprocessingOptions(1))), expected)


@pytest.mark.parametrize("dtype", DTYPES[:5])
def test_what_came_by_columns_shares_a_row_with_what_has_another_dtype(dtype):
    first, second = np.arange(3).astype(dtype), np.arange(4) * 0.5
    (feature,) = features_of({"x": WIDTH})
    values = pack_values(feature, Like(first.dtype, (), alike=False), [[first.data, second]], [[3, 4]])
    assert same(values[0], _row([first, second], first.dtype)["x"])


@pytest.mark.parametrize("workers", [0, 1])
def test_rows_and_batches_of_them_are_nobody_elses(workers):
    packed = pack(many("x").to_iter_dataset(INLINE))
    for ds in (packed, packed.batch(8)):
        expected = list(ds)
        it = iter(ds.mp_prefetch(grain.MultiprocessingOptions(workers))) if workers else iter(ds)
        for element in expected:
            own = next(it)
            assert same(own, element)
            for array in own.values():
                array[:] = -1  # which changes none of those that follow
        it.close()
