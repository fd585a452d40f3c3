"""Concatenate, then split."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grain
from grain import experimental as ex
from grain._src.conformance.equality import same
from grain._src.engine.reader import ReaderIterator
from grain._src.errors import StateError
from grain._src.nodes import concat_rows, concat_then_split

INLINE = grain.ReadOptions(0, 0)
BOS = ex.BOSHandling.REPLACE_FIRST_TOKEN_WITH_BOS


def documents(lengths):
    return [{"x": np.arange(1, n + 1) + 1000 * i} for i, n in enumerate(lengths)]


def split(elements, **options):
    options = {"length_struct": {"x": 8}, **options}
    return ex.ConcatThenSplitIterDataset(grain.MapDataset.source(elements).to_iter_dataset(INLINE), **options)


def values(ds, feature="x"):
    return [row[feature].tolist() for row in ds]


@st.composite
def splittings(draw):
    lengths = draw(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 25), st.integers(0, 3)), max_size=20))
    elements = [
        {"x": np.arange(1, n + 1) + 1000 * i, "y": np.arange(1, m + 1) + 1000 * i, "m": np.full(k, i)}
        for i, (n, m, k) in enumerate(lengths)
    ]
    struct = {"x": draw(st.integers(1, 15)), "y": draw(st.integers(1, 15)), "m": draw(st.integers(3, 6))}
    return split(
        elements,
        length_struct=struct,
        meta_features=["m"],
        split_full_length_features=draw(st.booleans()),
    ), elements


@given(splittings())
def test_no_token_is_lost_repeated_or_reordered(splitting):
    ds, elements = splitting
    rows = list(ds)
    for feature in ("x", "y"):
        found = np.concatenate([row[feature][row[f"{feature}_segment_ids"] > 0] for row in rows] or [np.zeros(0, int)])
        for number, element in enumerate(elements):
            assert found[(found - 1) // 1000 == number].tolist() == element[feature].tolist()
        assert len(found) == sum(len(element[feature]) for element in elements)


@given(splittings())
def test_a_restored_iterator_goes_on_with_the_same_rows(splitting):
    ds, _ = splitting
    if list(ds):
        ex.assert_equal_output_after_checkpoint(ds)


@given(st.lists(st.integers(1, 30), max_size=15))
def test_only_the_last_row_is_padded(lengths):
    rows = list(split(documents(lengths)))
    assert len(rows) == -(-sum(lengths) // 8)
    assert all(row["x_segment_ids"].all() for row in rows[:-1])


def test_pieces_count_their_segments_and_positions_anew():
    first, second = split(documents((3, 11, 2)))
    assert first["x"].tolist() == [1, 2, 3, 1001, 1002, 1003, 1004, 1005]
    assert first["x_segment_ids"].tolist() == [1, 1, 1, 2, 2, 2, 2, 2]
    assert second["x_positions"].tolist() == [0, 1, 2, 3, 4, 5, 0, 1]
    assert second["x_segment_ids"].tolist() == [1, 1, 1, 1, 1, 1, 2, 2]


def test_states_keep_the_part_that_is_left_and_no_tokens():
    it = iter(split(documents((3, 11, 2))))
    assert it.get_state() == {
        "parent_state": {"next_index": 0},
        "remainder_slices": {"x": [-1, -1]},
        "elements_from_buffer_after_checkpoint": 0,
    }
    next(it), next(it)
    assert it.get_state() == {
        "parent_state": {"next_index": 1},
        "remainder_slices": {"x": [5, 11]},
        "elements_from_buffer_after_checkpoint": 1,
    }


def test_full_rows_pass_unsplit_after_the_row_that_was_begun():
    elements = documents((3, 8, 5, 2))
    assert values(split(elements, split_full_length_features=False))[1] == elements[1]["x"].tolist()
    assert values(split(elements))[0][:3] == [1, 2, 3]


def test_a_stream_of_full_rows_only_does_not_collect_in_memory(monkeypatch):
    monkeypatch.setattr(concat_rows, "MOST_WAITING", 3)
    read = []
    source = grain.MapDataset.source(documents((8,) * 10)).map(lambda e: (read.append(1), e)[1]).to_iter_dataset(INLINE)
    ds = ex.ConcatThenSplitIterDataset(source, length_struct={"x": 8}, split_full_length_features=False)
    next(iter(ds))
    assert len(read) == 3
    assert values(ds) == [e["x"].tolist() for e in documents((8,) * 10)]
    ex.assert_equal_output_after_checkpoint(ds)


def test_every_piece_begins_with_the_token_for_it():
    ds = split(documents((3, 11)), bos_handling=BOS, bos_features=["x"], bos_token_id=-7)
    assert values(ds) == [[-7, 2, 3, -7, 1002, 1003, 1004, 1005], [-7, 1007, 1008, 1009, 1010, 1011, 0, 0]]


def test_meta_features_are_repeated_with_each_piece():
    elements = [{"x": np.arange(1, 12), "m": 7}, {"x": np.arange(1, 4), "m": 8}]
    rows = list(split(elements, length_struct={"x": 8, "m": 2}, meta_features=["m"]))
    assert [row["m"].tolist() for row in rows] == [[7, 0], [7, 8]]
    assert "m_positions" not in rows[0]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"y": np.arange(3)}, r"flat dicts with the features of length_struct, \['x'\], got \['y'\]"),
        ({"x": np.arange(3), "y": 1}, "flat dicts with the features"),
        (np.arange(3), "got ndarray"),
    ],
)
def test_a_bad_element_is_an_error_and_splitting_goes_on_without_it(bad, message):
    good = documents((5, 4))
    it = iter(split([good[0], bad, good[1]]))
    with pytest.raises(ValueError, match=message):
        next(it)
    assert values(it) == values(split(good))


def test_a_meta_feature_that_fits_no_row_says_so():
    with pytest.raises(ValueError, match="'m' has 3 values, but only 2 fit"):
        list(split([{"x": np.arange(3), "m": np.arange(3)}], length_struct={"x": 8, "m": 2}, meta_features=["m"]))


def test_tokens_of_another_shape_say_so():
    with pytest.raises(ValueError, match="tokens of shape"):
        list(split([{"x": np.arange(3)}, {"x": np.ones((3, 2))}]))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"bos_handling": BOS}, ValueError, "bos_token_id must be set"),
        ({"bos_token_id": 1}, ValueError, "have no meaning"),
        (
            {"bos_handling": BOS, "bos_token_id": 1, "bos_features": ["x"], "meta_features": ["x"]},
            ValueError,
            "bos_features must not be meta features",
        ),
        ({"bos_handling": 2}, TypeError, "bos_handling must be"),
        ({"meta_features": ["m"]}, ValueError, r"\['m'\] have none"),
        ({"length_struct": {"x": -1}}, ValueError, "positive integer, got -1"),
    ],
)
def test_bad_arguments_are_named(options, error, message):
    with pytest.raises(error, match=message):
        split([], **options)


@pytest.mark.parametrize(
    "change",
    [
        {"remainder_slices": {"y": [0, 1]}},
        {"remainder_slices": {"x": [0]}},
        {"parent_state": {"other": 1}},
        {"elements_from_buffer_after_checkpoint": -1},
    ],
)
def test_a_state_of_another_pipeline_is_refused_and_changes_nothing(change):
    ds = split(documents((3, 11, 2, 9)))
    it = iter(ds)
    next(it)
    before = it.get_state()
    with pytest.raises(StateError):
        it.set_state({**before, **change})
    assert it.get_state() == before
    assert values(it) == values(ds)[1:]


def test_a_state_within_a_document_of_other_length_is_refused():
    it = iter(split(documents((3,))))
    state = it.get_state()
    it.set_state({**state, "remainder_slices": {"x": [5, 9]}})
    with pytest.raises(StateError, match="other lengths"):
        next(it)


def test_workers_change_neither_rows_nor_states():
    ds = split(documents((3, 11, 2, 9, 20, 1)))
    with iter(ds.mp_prefetch(grain.MultiprocessingOptions(num_workers=2))) as spread, iter(ds) as plain:
        for row in plain:
            assert np.array_equal(row["x"], next(spread)["x"])
            assert spread.get_state() == plain.get_state()


def mixed():
    """Documents of several dtypes, some that are bad, some whose tokens have another shape."""
    rng = np.random.default_rng(3)
    kinds = [np.int32] * 40 + [np.int64] * 40 + [np.float32] * 20
    found = [{"x": np.arange(rng.integers(1, 12), dtype=kind)} for kind in kinds for _ in range(2)]
    found[90] = {"y": 1}
    found[121] = {"x": np.ones((3, 2))}
    return found


@pytest.mark.parametrize("slow", [False, True])
def test_rows_filled_several_at_a_time_are_those_filled_one_by_one(steps, monkeypatch, slow):
    ds = split(mixed())
    if slow:
        monkeypatch.setattr(concat_then_split, "_QUICK_SECONDS", 0.0)
    together = steps(ds)
    monkeypatch.setattr(concat_then_split, "rows_at_once", lambda features: 1)
    assert same(together, steps(ds))
    assert [at for at, (row, _) in enumerate(together) if isinstance(row, str)], "errors come at their places"


def test_a_state_between_rows_that_were_filled_together_resumes_right_there():
    ds = split(documents((3, 11, 5, 7, 2, 9) * 20))
    every = values(ds)
    it = iter(ds)
    for at in range(1, len(every)):
        next(it)
        other = iter(ds)
        other.set_state(it.get_state())
        assert values(other) == every[at:]


# Rows of one feature are filled in a way of their own.

LENGTHS = st.lists(st.integers(0, 40), max_size=40)


@given(LENGTHS)
def test_one_feature_is_split_as_several_are(steps, lengths):
    ds = split(documents(lengths))
    alone = steps(ds)
    patch = pytest.MonkeyPatch()
    try:
        patch.setattr(
            concat_then_split, "_filler", lambda node, parent: concat_rows.DocumentFiller(node.features, parent, False)
        )
        assert same(alone, steps(ds))
    finally:
        patch.undo()


@given(LENGTHS)
def test_rows_and_states_are_the_same_read_at_once_or_one_by_one(steps, lengths):
    filtered = grain.MapDataset.source(documents(lengths)).filter(lambda element: len(element["x"]) % 3)
    ds = ex.ConcatThenSplitIterDataset(filtered.to_iter_dataset(INLINE), length_struct={"x": 8})
    at_once = steps(ds)
    patch = pytest.MonkeyPatch()
    try:
        patch.setattr(ReaderIterator, "pull_run", lambda self, count: None)
        assert same(at_once, steps(ds))
    finally:
        patch.undo()


@given(splittings(), st.integers(1, 7))
def test_a_batch_is_its_rows_stacked_and_so_are_the_states(steps, stacked, splitting, size):
    ds, _ = splitting
    assert same(steps(ds.batch(size)), stacked(steps(ds), size))


@given(LENGTHS, st.integers(1, 7))
def test_a_batch_of_one_feature_is_its_rows_stacked(steps, stacked, lengths, size):
    ds = split(documents(lengths), bos_handling=BOS, bos_features=["x"], bos_token_id=7)
    assert same(steps(ds.batch(size)), stacked(steps(ds), size))


def test_an_error_takes_the_batch_that_it_comes_in_and_no_other(steps, stacked):
    rows = steps(split(mixed()))
    bad = [at for at, (row, _) in enumerate(rows) if isinstance(row, str)]
    expected, begun = [], 0
    for at in bad:
        expected += stacked(rows[begun : begun + (at - begun) // 3 * 3], 3)
        expected.append(rows[at])
        begun = at + 1
    expected += stacked(rows[begun:], 3)
    assert len(bad) == 2
    assert same(steps(split(mixed()).batch(3)), expected)


def test_an_interrupt_does_not_wait_and_loses_nothing():
    hits = iter([True])

    def make(number):
        if number == 20 and next(hits, False):
            raise KeyboardInterrupt
        return {"x": np.arange(5) + 100 * number}

    ds = ex.ConcatThenSplitIterDataset(
        grain.MapDataset.range(60).map(make).to_iter_dataset(INLINE), length_struct={"x": 8}
    ).batch(2)
    it, found = iter(ds), []
    with pytest.raises(KeyboardInterrupt):
        while True:
            found.append(next(it))
    assert next(hits, None) is None
    assert same([*found, *it], list(ds))


def test_a_bad_document_within_which_a_state_was_is_left_out_whole():
    elements = documents((3, 30, 5, 9))
    it = iter(split(elements))
    next(it), next(it)
    state = it.get_state()
    elements[1] = {"y": 1}
    other = iter(split(elements))
    other.set_state(state)
    with pytest.raises(ValueError, match="flat dicts"):
        next(other)
