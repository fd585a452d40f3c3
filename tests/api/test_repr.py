"""A pipeline prints as a user would write it, a step a line."""

import functools

import pytest

import grain
from grain.transforms import Map

M = grain.MapDataset


class Scale(Map):
    def __init__(self, by):
        self.by = by

    def map(self, element):
        return element * self.by


def double(x):
    return 2 * x


@pytest.mark.parametrize(
    ("ds", "lines"),
    [
        (M.range(5), ["range(0, 5, 1)"]),
        (M.source([1, 2]), ["source(list, 2 records)"]),
        (
            M.range(9).seed(3).shuffle(seed=1).map(double).batch(2),
            ["range(0, 9, 1)", "seed(seed=3)", "shuffle(seed=1)", "map(function=double)", "batch(batch_size=2)"],
        ),
        (M.range(9)[1::2].repeat(2), ["range(0, 9, 1)", "slice(1:9:2)", "repeat(num_epochs=2)"]),
        (M.range(9).slice([1, 2]), ["range(0, 9, 1)", "slice(2 indices)"]),
        (M.range(9).map(functools.partial(double)), ["range(0, 9, 1)", "map(function=partial(double))"]),
        (M.range(9).map(Scale(2)), ["range(0, 9, 1)", "map(function=Scale())"]),
        (
            M.mix([M.range(2).map(double), M.range(3)], weights=[1, 3]),
            ["┌ range(0, 2, 1)", "│ map(function=double)", "┌ range(0, 3, 1)", "mix(2 datasets, weights=[100, 300])"],
        ),
        (M.concatenate([M.range(2)]), ["range(0, 2, 1)", "concatenate(1 datasets)"]),
    ],
    ids=lambda value: "" if isinstance(value, list) else str(len(value)),
)
def test_a_pipeline_reads_as_it_was_written(ds, lines):
    assert repr(ds).splitlines() == lines


def test_a_stream_shows_how_it_is_read():
    text = repr(M.range(5).to_iter_dataset(grain.ReadOptions(2, 3)).filter(double).batch(2, drop_remainder=True))
    assert "to_iter_dataset(read_options=ReadOptions(num_threads=2, prefetch_buffer_size=3))" in text
    assert text.splitlines()[-2:] == ["filter(function=double)", "batch(batch_size=2, drop_remainder=True)"]


def test_no_address_is_shown_so_that_reprs_can_be_compared():
    class Plain:
        def __call__(self, x):
            return x

    def make():
        return M.range(5).map(Plain()).map(lambda x: x).to_iter_dataset().map(Plain().__call__)

    assert repr(make()) == repr(make())
    assert "0x" not in repr(make())
