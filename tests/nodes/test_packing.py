"""First-fit and best-fit packing, and batches of packed rows."""

import json
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grain
from grain import experimental as ex
from grain._src.conformance.equality import same
from grain._src.errors import StateError

INLINE = grain.ReadOptions(0, 0)
PACKERS = (ex.FirstFitPackIterDataset, ex.BestFitPackIterDataset)


def stream(elements):
    return grain.MapDataset.source(elements).to_iter_dataset(INLINE)


def documents(lengths, features=("x",)):
    """Documents whose every token is unique: 1000 * document + position, from 1."""
    return [{f: np.arange(1, n + 1) + 1000 * i for f in features} for i, n in enumerate(lengths)]


def pack(packer, elements, **options):
    options = {"length_struct": {"x": 10}, "num_packing_bins": 2, "shuffle_bins": False, **options}
    return packer(stream(elements), **options)


def unpack(row, feature="x"):
    """The sequences in a row, by their segment ids."""
    segments = row[f"{feature}_segment_ids"]
    return [row[feature][segments == number].tolist() for number in range(1, segments.max(initial=0) + 1)]


@st.composite
def packings(draw):
    options = {
        "num_packing_bins": draw(st.integers(1, 5)),
        "seed": draw(st.integers(0, 2**32)),
        "shuffle_bins": draw(st.booleans()),
        "max_sequences_per_bin": draw(st.none() | st.integers(1, 4)),
        "pack_alignment_struct": draw(
            st.none() | st.fixed_dictionaries({"x": st.integers(1, 4), "y": st.integers(1, 4)})
        ),
        "length_struct": {"x": 12, "y": 20},
    }
    lengths = draw(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 20)), max_size=30))
    elements = [
        {"x": np.arange(1, n + 1) + 1000 * i, "y": np.arange(1, m + 1) + 1000 * i} for i, (n, m) in enumerate(lengths)
    ]
    return draw(st.sampled_from(PACKERS)), elements, options


@given(packings())
def test_no_token_is_lost_repeated_or_reordered(packing):
    packer, elements, options = packing
    rows = list(packer(stream(elements), **options))
    for feature in ("x", "y"):
        found = [sequence for row in rows for sequence in unpack(row, feature) if sequence]
        assert sorted(found) == sorted(e[feature].tolist() for e in elements if len(e[feature]))
        for row in rows:
            inside = row[f"{feature}_segment_ids"] > 0
            assert not row[feature][~inside].any()
            assert np.array_equal(row[f"{feature}_positions"][inside], (row[feature][inside] - 1) % 1000)


@given(packings())
def test_a_restored_packer_goes_on_with_the_same_rows(packing):
    packer, elements, options = packing
    ds = packer(stream(elements), **options)
    if list(ds):
        ex.assert_equal_output_after_checkpoint(ds)


@given(packings())
def test_rows_never_hold_more_sequences_than_allowed(packing):
    packer, elements, options = packing
    most = options["max_sequences_per_bin"]
    elements = [e for e in elements if len(e["x"])]
    for row in packer(stream(elements), **options):
        assert most is None or len(unpack(row)) <= most


def test_first_fit_takes_the_first_row_with_room_and_best_fit_the_fullest():
    elements = documents((4, 7, 3))
    first, best = ([unpack(row) for row in pack(packer, elements)] for packer in PACKERS)
    tokens = [e["x"].tolist() for e in elements]
    assert first == [[tokens[0], tokens[2]], [tokens[1]]]
    assert best == [[tokens[0]], [tokens[1], tokens[2]]]


@pytest.mark.parametrize("packer", PACKERS)
def test_the_group_ends_with_the_element_that_does_not_fit(packer):
    it = iter(pack(packer, documents((8, 9, 5, 1))))
    assert it.get_state() == {"parent": {"next_index": 0}, "next_row": 0, "counter": 0}
    next(it)
    assert it.get_state() == {"parent": {"next_index": 0}, "next_row": 1, "counter": 1}
    next(it)
    assert it.get_state() == {"parent": {"next_index": 2}, "next_row": 0, "counter": 2}


@pytest.mark.parametrize("packer", PACKERS)
def test_alignment_moves_sequences_and_padding_fills_the_gaps(packer):
    (row,) = pack(packer, documents((3, 2)), pack_alignment_struct={"x": 4}, padding_struct={"x": -1})
    assert row["x"].tolist() == [1, 2, 3, -1, 1001, 1002, -1, -1, -1, -1]
    assert row["x_segment_ids"].tolist() == [1, 1, 1, 0, 2, 2, 0, 0, 0, 0]
    assert row["x_positions"].tolist() == [0, 1, 2, 0, 0, 1, 0, 0, 0, 0]


def test_meta_features_are_packed_without_marks_or_listed():
    elements = [{**e, "w": np.array([i]), "name": f"n{i}", "else": 0} for i, e in enumerate(documents((3, 4)))]
    (row,) = pack(PACKERS[0], elements, length_struct={"x": 10, "w": 3}, meta_features=["w", "name"])
    assert sorted(row) == ["name", "w", "x", "x_positions", "x_segment_ids"]
    assert row["name"] == ["n0", "n1"]
    assert row["w"].tolist() == [0, 1, 0]


def test_nested_features_are_packed_as_meta_features():
    elements = [{**e, "m": {"a": np.array([7])}} for e in documents((3, 4))]
    options = {"length_struct": {"x": 10, "m": {"a": 2}}, "meta_features": ["m"]}
    (row,) = pack(PACKERS[0], elements, **options)
    assert row["m"]["a"].tolist() == [7, 7]
    with pytest.raises(ValueError, match="only meta features may be"):
        pack(PACKERS[0], elements, length_struct={"m": {"a": 2}})


def test_grouping_by_a_feature_sorts_the_rows_by_its_mean():
    elements = [{"x": np.full(6, value)} for value in (5, 1, 9, 3)]
    ds = pack(PACKERS[0], elements, num_packing_bins=4, shuffle_bins=True, shuffle_bins_group_by_feature="x")
    assert [row["x"][0] for row in ds] == [1, 3, 5, 9]
    with pytest.raises(KeyError, match="shuffle_bins_group_by_feature must be one of"):
        pack(PACKERS[0], elements, shuffle_bins=True, shuffle_bins_group_by_feature="y")


def test_tokens_may_have_a_shape_and_rows_take_the_dtype_of_the_first_element():
    elements = [{"x": np.ones((2, 3), np.uint8)}, {"x": np.full((1, 3), 300)}]
    (row,) = pack(PACKERS[0], elements)
    assert (row["x"].shape, row["x"].dtype) == ((10, 3), np.uint8)
    assert row["x"][2].tolist() == [44, 44, 44]


def test_many_short_sequences_are_marked_as_few_long_ones():
    lengths = [1 + i % 3 for i in range(40)]
    (row,) = pack(PACKERS[0], documents(lengths), length_struct={"x": 100}, num_packing_bins=1)
    assert [len(sequence) for sequence in unpack(row)] == lengths
    assert row["x_positions"][: sum(lengths)].tolist() == [p for n in lengths for p in range(n)]


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        ({"x": np.arange(11)}, ValueError, "'x' has 11, at most 10 fit"),
        ({"y": np.arange(3)}, KeyError, "no feature 'x'"),
        ({"x": np.ones((2, 2))}, ValueError, r"tokens of shape \(2,\), those packed before it have shape \(\)"),
        ({"x": {"deep": 1}}, ValueError, "'x' is a dict"),
        (np.arange(3), TypeError, "elements that are dicts"),
    ],
)
def test_a_bad_element_is_an_error_at_its_place_and_packing_goes_on_without_it(packer, bad, error, message):
    good = documents((4, 5, 6))
    it = iter(pack(packer, [*good[:2], bad, good[2]]))
    with pytest.raises(error, match=message):
        next(it)
    assert sorted(sequence for row in it for sequence in unpack(row)) == [e["x"].tolist() for e in good]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"num_packing_bins": 0}, ValueError, "num_packing_bins must be a positive integer, got 0"),
        ({"length_struct": {}}, ValueError, "length_struct must be a dict"),
        ({"length_struct": {"x": 0}}, ValueError, r"length_struct\['x'\] must be a positive integer, got 0"),
        ({"max_sequences_per_bin": 0}, ValueError, "max_sequences_per_bin must be a positive integer"),
        ({"pack_alignment_struct": {"y": 2}}, ValueError, "pack_alignment_struct must have the keys of length_struct"),
        ({"seed": -1, "shuffle_bins": True}, ValueError, "seed must be"),
    ],
)
def test_bad_arguments_are_named(options, error, message):
    with pytest.raises(error, match=message):
        pack(PACKERS[0], [], **options)


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"next_index": 1},
        {"parent": {}, "next_row": 0, "counter": 0},
        {"parent": {"next_index": 0}, "next_row": 2, "counter": 1},
    ],
)
def test_a_state_of_another_pipeline_is_refused_and_changes_nothing(state):
    ds = pack(PACKERS[0], documents((8, 9, 5, 6)))
    it = iter(ds)
    next(it)
    before = it.get_state()
    with pytest.raises(StateError):
        it.set_state(state)
    assert it.get_state() == before
    assert [row["x"].tolist() for row in it] == [row["x"].tolist() for row in ds][1:]


def test_a_state_with_more_rows_than_the_group_has_is_refused():
    it = iter(pack(PACKERS[0], documents((8, 9))))
    it.set_state({"parent": {"next_index": 0}, "next_row": 5, "counter": 5})
    with pytest.raises(StateError, match="but it has 2"):
        next(it)


LENGTHS = (4, 5, 6, 2, 7, 1, 9, 3)


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
@pytest.mark.parametrize("place", range(len(LENGTHS)))
def test_an_error_of_the_parent_does_not_lose_the_rows_that_were_begun(packer, error, place):
    failures = iter([True])

    def flaky(index, element):
        if index == place and next(failures, False):
            raise error("once")
        return element

    ds = grain.MapDataset.source(documents(LENGTHS)).map_with_index(flaky).to_iter_dataset(INLINE)
    it = iter(packer(ds, length_struct={"x": 10}, num_packing_bins=4, shuffle_bins=False))
    rows, failed = [], 0
    while True:
        try:
            rows.append(unpack(next(it)))
        except error:
            failed += 1
        except StopIteration:
            break
    assert failed == 1
    assert rows == [unpack(row) for row in pack(packer, documents(LENGTHS), num_packing_bins=4)]


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("place", range(len(LENGTHS)))
def test_an_element_that_is_too_long_is_an_error_at_its_place_and_no_other_is_lost(packer, place):
    elements = documents(LENGTHS)
    too_long = {"x": np.zeros(11, np.int32)}
    it = iter(pack(packer, [*elements[:place], too_long, *elements[place:]], num_packing_bins=4))
    rows, failed = [], 0
    while True:
        try:
            rows.append(unpack(next(it)))
        except ValueError as error:
            failed += "longer than a packed row" in str(error)
        except StopIteration:
            break
    assert failed == 1
    assert rows == [unpack(row) for row in pack(packer, elements, num_packing_bins=4)]


@pytest.mark.parametrize("packer", PACKERS)
def test_sequences_may_be_arrays_or_lists_in_any_order(packer):
    elements = documents(LENGTHS)
    mixed = [{"x": e["x"].tolist()} if number % 3 == 1 else e for number, e in enumerate(elements)]
    rows = [unpack(row) for row in pack(packer, mixed, num_packing_bins=4)]
    assert rows == [unpack(row) for row in pack(packer, elements, num_packing_bins=4)]


def test_the_operation_packs_records_into_batches():
    data = documents((5, 3, 8, 2, 9))
    records = [grain.Record(grain.RecordMetadata(index=i, record_key=i), element) for i, element in enumerate(data)]
    first, last = ex.PackAndBatchOperation(length_struct={"x": 10}, batch_size=2)(iter(records))
    values, segments, positions = first.data
    assert first.metadata == grain.RecordMetadata(index=3)
    assert values["x"].shape == segments["x"].shape == positions["x"].shape == (2, 10)
    assert segments["x"][0].tolist() == [1, 1, 1, 1, 1, 2, 2, 2, 3, 3]
    assert last.data[0]["x"][0, :9].tolist() == data[4]["x"].tolist()
    assert not last.data[1]["x"][1].any()


def test_the_operation_packs_any_tree_and_gives_nothing_for_nothing():
    operation = ex.PackAndBatchOperation(length_struct=(4, {"a": 6}), batch_size=1)
    record = grain.Record(grain.RecordMetadata(index=0), (np.arange(2), {"a": np.arange(3)}))
    (batch,) = operation(iter([record, record]))
    assert batch.data[0][1]["a"].tolist() == [[0, 1, 2, 0, 1, 2]]
    assert list(operation(iter([]))) == []


@pytest.mark.parametrize("packer", PACKERS)
def test_workers_change_neither_rows_nor_states(packer):
    ds = pack(packer, documents((8, 3, 9, 5, 1, 6, 2, 7)), shuffle_bins=True, seed=3)
    with iter(ds.mp_prefetch(grain.MultiprocessingOptions(num_workers=2))) as spread, iter(ds) as plain:
        for row in plain:
            assert np.array_equal(row["x"], next(spread)["x"])
            assert json.dumps(spread.get_state()) == json.dumps(plain.get_state())
        assert next(spread, None) is None
        spread.set_state({"parent": {"next_index": 0}, "next_row": 1, "counter": 1})
        assert [row["x"].tolist() for row in spread] == [row["x"].tolist() for row in islice(ds, 1, None)]


# Batches of rows are written as batches: they are what stacking the rows gives.


@given(packings(), st.integers(1, 7))
def test_a_batch_is_its_rows_stacked_and_so_are_the_states(steps, stacked, packing, size):
    packer, elements, options = packing
    ds = packer(stream(elements), **options)
    assert same(steps(ds.batch(size)), stacked(steps(ds), size))


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("drop", [False, True])
def test_an_incomplete_batch_comes_last_or_not_at_all(packer, drop):
    ds = pack(packer, documents((5, 3, 8, 2, 9, 4, 4)))
    count = len(list(ds))
    sizes = [len(batch["x"]) for batch in ds.batch(3, drop_remainder=drop)]
    assert sizes == [3] * (count // 3) + [count % 3] * (not drop and count % 3 > 0)


def test_nested_and_listed_features_are_batched_like_any_others(steps, stacked):
    elements = [{"x": np.arange(n), "m": {"a": np.full(2, n), "b": n}, "name": f"{n:03}"} for n in (5, 3, 8, 2, 9, 6)]
    options = {"num_packing_bins": 2, "shuffle_bins": False}
    lengths = {"x": 10, "m": {"a": 9, "b": 4}}
    nested = ex.FirstFitPackIterDataset(stream(elements), length_struct=lengths, meta_features=["m"], **options)
    assert same(steps(nested.batch(3)), stacked(steps(nested), 3))
    assert set(next(iter(nested.batch(3)))["m"]) == {"a", "b"}


def test_groups_of_another_dtype_are_batched_as_stacking_does_it(steps, stacked):
    elements = [{"x": np.arange(9, dtype=kind)} for kind in (np.int32, np.int32, np.int64, np.float32)]
    ds = pack(PACKERS[0], elements, num_packing_bins=1)
    assert same(steps(ds.batch(2)), stacked(steps(ds), 2))
    assert [batch["x"].dtype for batch in ds.batch(2)] == [np.int32, np.float64]


@pytest.mark.parametrize("packer", PACKERS)
def test_an_error_takes_the_batch_that_it_comes_in_and_no_other(steps, stacked, packer):
    elements = [*documents((5, 8, 9, 4, 7, 10, 2)), {"x": np.arange(11)}, *documents((5, 8, 9, 4, 7, 10, 2))]
    ds = pack(packer, elements, num_packing_bins=2)
    rows = steps(ds)
    (bad,) = (at for at, (row, _) in enumerate(rows) if isinstance(row, str))
    first = bad // 2 * 2
    expected = [*stacked(rows[:first], 2), rows[bad], *stacked(rows[bad + 1 :], 2)]
    assert same(steps(ds.batch(2)), expected)


def test_batches_are_arrays_of_their_own():
    it = iter(pack(PACKERS[0], documents((5, 3, 8, 2, 9, 4, 4) * 3), num_packing_bins=4).batch(2))
    first = next(it)
    before = {name: array.copy() for name, array in first.items()}
    others = list(it)
    assert same(first, before)
    first["x"][:] = -1
    assert all(
        not np.shares_memory(array, own) for other in others for array in other.values() for own in first.values()
    )
