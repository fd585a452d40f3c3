"""What a pipeline is, in words that are the same in every process, and what became of it."""

import dataclasses
import functools
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import grain
from grain._src.checkpoint.fingerprint import changes, fingerprint
from grain._src.checkpoint.functions import code_of, describe


def said(before, after):
    return changes(fingerprint(before._node), fingerprint(after._node))


def base():
    return grain.MapDataset.source([1, 2, 3]).seed(1)


def add_one(x):
    return x + 1


def add_two(x):
    return x + 2


class Resize(grain.transforms.Map):
    def __init__(self, size):
        self._size = size
        self.calls = 0

    def map(self, element):
        self.calls += 1
        return element * self._size


@dataclasses.dataclass(frozen=True)
class Scale:
    factor: float = 1.0

    def __call__(self, element):
        return element * self.factor


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (base().shuffle(seed=1), base().shuffle(seed=2), ["shuffle(seed=1) became shuffle(seed=2)"]),
        (base().map(add_one), base().map(add_two), ["map(add_one) became map(add_two)"]),
        (base().map(Resize(2)), base().map(Resize(3)), ["map(Resize(size=2)) became map(Resize(size=3))"]),
        (base().map(Scale(2.0)), base().map(Scale(0.5)), ["map(Scale(factor=2.0)) became map(Scale(factor=0.5))"]),
        (base().map(lambda x: x + 1), base().map(lambda x: x - 1), ["the code of map(<lambda>) changed"]),
        (
            base().batch(2),
            base().batch(2, drop_remainder=True),
            ["batch(batch_size=2) became batch(batch_size=2, drop_remainder=True)"],
        ),
        (base(), base().map(add_one), ["map(add_one) was added"]),
        (base().filter(bool).map(add_one), base().map(add_one), ["filter(bool) was removed"]),
        (base(), grain.MapDataset.source([1, 2]), ["source(list, 3 records) became source(list, 2 records)"]),
        (
            base().map(functools.partial(max, 1)),
            base().map(functools.partial(max, 2)),
            ["map(partial(max, 1)) became map(partial(max, 2))"],
        ),
        (base().repeat(2), base().repeat(), ["repeat(num_epochs=2) became repeat(num_epochs=None)"]),
    ],
)
def test_changes_are_said_in_words(before, after, expected):
    assert said(before, after) == expected


def test_a_source_is_known_by_what_it_reads_and_how_much():
    class Files:
        def __init__(self, path, cache):
            self.path, self.cache = path, cache

        def __len__(self):
            return 5

        def __getitem__(self, key):
            return key

    def of(source):
        return grain.MapDataset.source(source)

    assert said(of(Files("a", [1])), of(Files("a", [2]))) == []
    assert said(of(Files("a", [])), of(Files(pathlib.Path("b"), []))) == [
        "source(test_a_source_is_known_by_what_it_reads_and_how_much.Files(path='a'), 5 records) became "
        "source(test_a_source_is_known_by_what_it_reads_and_how_much.Files(path='b'), 5 records)"
    ]
    assert said(of(np.zeros((5, 2))), of(np.zeros((5, 3)))) == [
        "source(ndarray float64[5, 2], 5 records) became source(ndarray float64[5, 3], 5 records)"
    ]
    assert said(of(range(5)), of(range(1, 6))) == [
        "source(range(0, 5), 5 records) became source(range(1, 6), 5 records)"
    ]


class Every(grain.MapDataset):
    def __init__(self, parent, step):
        super().__init__(parent)
        self._step = step

    def __len__(self):
        return len(self._parent) // self._step

    def __getitem__(self, index):
        return self._parent[index * self._step]


def test_a_users_own_dataset_is_known_by_its_parameters_and_its_parents():
    assert said(Every(base(), 1), Every(base(), 1)) == []
    assert said(Every(base(), 1), Every(base(), 3)) == ["Every(step=1) of 3 records became Every(step=3) of 1 records"]
    assert said(Every(base(), 1), Every(base().shuffle(seed=1), 1)) == ["shuffle(seed=1) was added"]


def test_captured_values_are_parameters():
    def times(k):
        return base().map(lambda x: x * k)

    assert said(times(2), times(2)) == []
    assert said(times(2), times(3)) == [
        "map(test_captured_values_are_parameters.times.<lambda>[k=2]) became "
        "map(test_captured_values_are_parameters.times.<lambda>[k=3])"
    ]


def test_counters_and_caches_are_no_parameters():
    seen = 0
    cache = {}

    def count(x):
        nonlocal seen
        seen += 1
        cache[x] = seen
        return x

    resize = Resize(2)
    ds = base().map(count).map(resize)
    before = fingerprint(ds._node)
    list(ds)
    assert seen
    assert resize.calls
    assert changes(before, fingerprint(ds._node)) == []


def test_what_only_tunes_is_left_out():
    plain = base().shuffle().map(add_one).to_iter_dataset().batch(2)
    tuned = (
        base().shuffle().map(add_one).to_iter_dataset(grain.ReadOptions(num_threads=3))
        .batch(2)
        .pipe(grain.experimental.WithOptionsIterDataset, grain.experimental.DatasetOptions(min_shm_size=1))
        .mp_prefetch(grain.MultiprocessingOptions(num_workers=3))
    )  # fmt: skip
    assert said(plain, tuned) == []
    assert said(plain, grain.experimental.device_put(tuned, None, cpu_buffer_size=7)) == []


def test_where_the_random_access_ends_does_not_matter():
    assert said(base().map(add_one).to_iter_dataset(), base().to_iter_dataset().map(add_one)) == []


def test_a_derived_seed_is_a_parameter():
    assert said(base().shuffle(), base().seed(2).shuffle()) != []


def test_components_are_compared_one_by_one():
    def mixed(seed):
        return grain.MapDataset.mix([base(), base().shuffle(seed=seed)])

    assert said(mixed(1), mixed(2)) == ["shuffle(seed=1) became shuffle(seed=2) in component 1"]
    assert said(mixed(1), grain.MapDataset.mix([base()] * 3)) != []


def test_many_components_are_told_apart_without_listing_them():
    def many(last):
        return grain.MapDataset.concatenate([grain.MapDataset.range(n) for n in [*range(1, 200), last]])

    assert said(many(3), many(3)) == []
    assert said(many(3), many(4)) == ["the components of concatenate() changed"]
    assert len(json.dumps(fingerprint(many(3)._node))) < 200


def test_components_and_weights_of_a_mapping_may_change_but_not_what_a_component_is():
    a, b, c = (base().shuffle(seed=seed).to_iter_dataset() for seed in (1, 2, 3))
    before = grain.IterDataset.mix({"a": a, "b": b}, {"a": 1, "b": 2})
    assert said(before, grain.IterDataset.mix({"b": b, "c": c}, {"b": 5, "c": 1})) == []
    assert said(before, grain.IterDataset.mix({"a": a, "b": c})) == [
        "shuffle(seed=2) became shuffle(seed=3) in component 'b'"
    ]


def test_code_of_another_python_is_not_compared():
    step = {"step": "map(f)", "code": "3.11:00000000"}
    assert changes([step], [{**step, "code": "3.12:11111111"}]) == []
    assert changes([step], [{**step, "code": "3.11:11111111"}]) == ["the code of map(f) changed"]


def test_long_values_are_told_apart():
    many, other = list(range(300)), [*range(299), 0]
    assert describe(many) != describe(other)
    assert len(describe(many)) <= 210
    assert describe(np.arange(10)) != describe(np.arange(10)[::-1])


def test_objects_without_a_description_of_their_own_show_no_address():
    class Opaque:
        pass

    assert describe(Opaque()) == describe(Opaque())
    assert code_of(len) is None


SCRIPT = """
import json, grain
from grain._src.checkpoint.fingerprint import fingerprint
tags = {"x", "y", "z"}
def clean(x, allowed=frozenset({"a", "b", "c", "d"})):
    return x if x in {"p", "q", "r", "s"} or x in allowed else (lambda y: y in tags)(x)
class Tag(grain.transforms.Map):
    def __init__(self, names): self.names = names
    def map(self, element): return element
ds = grain.MapDataset.source(["a"]).map(clean).map(Tag({"u", "v", "w"})).shuffle(seed=3)
print(json.dumps(fingerprint(ds._node)))
"""


def test_a_fingerprint_is_the_same_in_every_process():
    shown = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(shown) == 1
    assert "clean" in shown.pop()
