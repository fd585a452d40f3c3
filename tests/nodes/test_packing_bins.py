"""Rows that sequences go to: every kind of bins against the rule written out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grain._src.nodes.packing_bins import make_bins
from grain._src.nodes.packing_features import Feature

LENGTH = 12


def rule(features, lengths, count, most, best):
    """Returns the row of each tuple of lengths up to the first that fits nowhere, by looking at all rows."""
    free = [[feature.length for feature in features] for _ in range(count)]
    taken, rows = [0] * count, []
    for own in lengths:
        fitting = [
            row
            for row in range(count)
            if taken[row] != most and all(have >= need for have, need in zip(free[row], own, strict=True))
        ]
        if not fitting:
            break
        row = min(fitting, key=lambda row: sum(free[row])) if best else fitting[0]
        rows.append(row)
        taken[row] += 1
        for number, (need, feature) in enumerate(zip(own, features, strict=True)):
            free[row][number] -= -(-need // feature.alignment) * feature.alignment
    return rows


@st.composite
def cases(draw):
    features = [
        Feature((name,), LENGTH + extra, alignment)
        for name, extra, alignment in zip(
            "abc", draw(st.tuples(*[st.integers(0, 8)] * 3)), draw(st.sampled_from([(1, 1, 1), (4, 1, 2)])), strict=True
        )
    ][: draw(st.integers(1, 3))]
    lengths = draw(st.lists(st.tuples(*[st.integers(1, LENGTH)] * len(features)), max_size=60))
    return features, lengths, draw(st.integers(1, 9)), draw(st.none() | st.integers(1, 4)), draw(st.booleans())


@given(cases())
def test_rows_are_those_of_the_rule(case):
    features, lengths, count, most, best = case
    bins = make_bins(features, count, most, best)
    expected = rule(*case)
    found = []
    for own in lengths:
        row = bins.place(own)
        if row is None:
            break
        found.append(row)
        assert bins.filled() == sorted(set(found))
        assert bins.empty == count - len(set(found))
    assert found == expected


@given(cases(), st.integers(1, 20))
def test_rows_are_the_same_many_at_a_time(case, size):
    features, lengths, count, most, best = case
    bins = make_bins(features, count, most, best)
    found = []
    for at in range(0, len(lengths), size):
        some = lengths[at : at + size]
        rows = bins.place_all(list(zip(*some, strict=True)))
        found += rows
        if len(rows) < len(some):
            break
    assert found == rule(*case)


@pytest.mark.parametrize("best", [False, True])
def test_empty_sequences_fit_into_full_rows(best):
    bins = make_bins([Feature(("a",), 4), Feature(("b",), 4)], 2, None, best)
    assert bins.place_all([[4, 0, 2, 0], [4, 0, 4, 4]]) == [0, 0, 1]
