"""Elements as trees: what is a container, what a leaf becomes in a batch, and what is said when it cannot."""

import collections
import dataclasses
import functools
import math
import subprocess
import sys
import textwrap

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grain
from grain._src import trees
from grain._src.conformance.equality import same
from grain.experimental import batch_and_pad

M = grain.MapDataset


class Point(collections.namedtuple("Point", "x y")):
    pass


@dataclasses.dataclass
class Image:
    pixels: np.ndarray
    label: int


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    a: int
    b: dict


@attrs.define
class Attrs:
    a: int
    _hidden: float


class Tagged(dict):
    pass


class Opaque:
    def __init__(self, value):
        self.value = value


def batch(*elements):
    return M.source(list(elements)).batch(len(elements))[0]


@pytest.mark.parametrize(
    ("elements", "expected"),
    [
        ([1, 2], np.array([1, 2])),
        ([1.5, 2], np.array([1.5, 2.0])),
        ([True, False], np.array([True, False])),
        ([1j, 2], np.array([1j, 2])),
        ([2**63, 2**63], np.array([2**63, 2**63], np.uint64)),
        ([2**70, 1], np.array([2**70, 1], object)),
        (["a", "bcd"], np.array(["a", "bcd"])),
        ([b"a", b"bcd"], np.array([b"a", b"bcd"])),
        ([np.int8(1), np.int8(2)], np.array([1, 2], np.int8)),
        ([np.int8(1), np.float32(2)], np.array([1, 2], np.float32)),
        ([np.zeros((2, 3), np.uint8)] * 2, np.zeros((2, 2, 3), np.uint8)),
        ([np.zeros(0)] * 3, np.zeros((3, 0))),
        ([np.array(5)] * 2, np.array([5, 5])),
        ([np.datetime64("2024-01-01")] * 2, np.array(["2024-01-01"] * 2, "datetime64[D]")),
        ([np.arange(6).reshape(2, 3).T] * 2, np.stack([np.arange(6).reshape(2, 3).T] * 2)),
        ([np.array(["x", "yz"])] * 2, np.array([["x", "yz"]] * 2)),
        ([np.zeros(2, [("a", "i4"), ("b", "f8")])] * 2, np.zeros((2, 2), [("a", "i4"), ("b", "f8")])),
        ([{"b": 1, "a": 2}, {"a": 3, "b": 4}], {"b": np.array([1, 4]), "a": np.array([2, 3])}),
        ([{"a": {"b": [1, (2, 3)]}}] * 2, {"a": {"b": [np.array([1, 1]), (np.array([2, 2]), np.array([3, 3]))]}}),
        ([[1, 2], [3, 4]], [np.array([1, 3]), np.array([2, 4])]),
        ([(), ()], ()),
        ([{}, {}], {}),
        ([{"a": None, "b": 1}] * 2, {"a": None, "b": np.array([1, 1])}),
        ([Point(1, 2), Point(3, 4)], Point(np.array([1, 3]), np.array([2, 4]))),
        ([Tagged(a=1), Tagged(a=2)], Tagged(a=np.array([1, 2]))),
        ([collections.OrderedDict(b=1, a=2)] * 2, collections.OrderedDict(b=np.array([1, 1]), a=np.array([2, 2]))),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_leaves_are_stacked_within_their_containers(elements, expected):
    assert same(batch(*elements), expected)
    assert same(next(iter(M.source(elements).to_iter_dataset().batch(2 if len(elements) == 2 else 3))), expected)


def test_a_default_dict_keeps_its_factory():
    made = batch(collections.defaultdict(list, a=1), collections.defaultdict(list, a=2))
    assert made["a"].tolist() == [1, 2]
    assert made["new"] == []


def test_dataclasses_and_attrs_are_containers():
    image = batch(Image(np.zeros(2), 1), Image(np.ones(2), 2))
    assert type(image) is Image
    assert image.pixels.tolist() == [[0, 0], [1, 1]]
    assert image.label.tolist() == [1, 2]
    frozen = batch(Frozen(1, {"x": 2}), Frozen(3, {"x": 4}))
    assert frozen.b["x"].tolist() == [2, 4]
    made = batch(Attrs(1, 0.5), Attrs(2, 1.5))
    assert (made.a.tolist(), made._hidden.tolist()) == ([1, 2], [0.5, 1.5])


def test_other_objects_are_leaves():
    one, two = Opaque(1), Opaque(2)
    made = batch({"o": one, "s": {1}}, {"o": two, "s": {2}})
    assert made["o"].dtype == object
    assert made["o"].tolist() == [one, two]
    assert made["s"].tolist() == [{1}, {2}]


@given(st.lists(st.one_of(st.text(), st.just("\0"), st.just("a\0")), min_size=1, max_size=5))
def test_strings_are_never_cut(texts):
    assert batch(*texts).tolist() == texts


@given(st.lists(st.one_of(st.binary(), st.just(b"\0\0")), min_size=1, max_size=5))
def test_bytes_are_never_cut(values):
    assert batch(*values).tolist() == values


@given(st.lists(st.one_of(st.booleans(), st.integers(-(2**66), 2**66), st.floats(), st.complex_numbers()), min_size=1))
def test_numbers_are_stacked_as_numpy_stacks_them(values):
    try:
        expected = np.stack([np.asarray(value) for value in values])
    except Exception:
        return
    made = batch(*values)
    assert made.dtype == expected.dtype
    np.testing.assert_array_equal(made, expected)


DTYPES = st.sampled_from(["?", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8", "c16", "S3", "U2", "M8[s]"])


@given(DTYPES, st.lists(st.integers(0, 3), max_size=3), st.integers(1, 4))
def test_arrays_of_any_kind_and_shape_are_stacked(dtype, shape, count):
    arrays = [np.full(shape, k).astype(dtype) for k in range(count)]
    np.testing.assert_array_equal(batch(*arrays), np.stack(arrays), strict=True)


@pytest.mark.parametrize("dtype", ["f4", ">f4", "?", "c8", "M8[s]", "i8,f4", "S3"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 3)])
@pytest.mark.parametrize("view", [np.ascontiguousarray, np.asfortranarray, lambda a: a[..., ::-1] if a.ndim else a])
def test_arrays_are_stacked_as_numpy_stacks_them_however_they_lie_in_memory(dtype, shape, view):
    arrays = [view(np.full(shape, i % 2, "u1").astype(dtype)) for i in range(4)]
    assert same(batch(*arrays), np.array(arrays))


@pytest.mark.parametrize("odd", [np.zeros((2, 3), "f8"), np.ma.zeros((2, 3), "f4"), np.float32(1)])
def test_one_array_that_differs_is_not_taken_for_the_others(odd):
    arrays = [np.ones((2, 3), "f4")] * 3
    if not np.shape(odd):
        with pytest.raises(ValueError, match="shapes"):
            batch(*arrays, odd)
    else:
        assert same(batch(*arrays, odd), np.stack([*arrays, odd]))


def test_a_batch_is_the_users_own_memory():
    source = np.arange(6).reshape(3, 2)
    made = M.source(source).batch(3)[0]
    made[:] = -1
    assert source.min() == 0


@pytest.mark.parametrize(
    ("elements", "words"),
    [
        ([np.zeros(3), np.zeros(4)], ["the root", "(3,) (element 0)", "(4,) (element 1)"]),
        ([{"a": {"b": np.zeros((2, 3))}}, {"a": {"b": np.zeros((3, 2))}}], ["`element['a']['b']`", "(2, 3)", "(3, 2)"]),
        ([[0, np.zeros(1)], [0, np.zeros(2)]], ["`element[1]`"]),
        ([Image(np.zeros(1), 1), Image(np.zeros(2), 1)], ["`element['pixels']`"]),
        ([{"a": 1}, {"b": 1}], ["the root", "keys ['a']", "keys ['b']"]),
        ([{"a": 1}, {"a": 1, "b": 2}], ["element 1", "keys ['a', 'b']"]),
        ([{"x": [1, 2]}, {"x": [1, 2, 3]}], ["`element['x']`", "a list of 2", "a list of 3"]),
        ([(1, 2), [1, 2]], ["a tuple of 2", "a list of 2"]),
        ([{"a": 1}, 5], ["a dict with keys ['a']", "a int"]),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_cannot_be_stacked_says_where_and_what_to_do(elements, words):
    for make in (lambda: batch(*elements), lambda: list(M.source(elements).to_iter_dataset().batch(2))):
        with pytest.raises(ValueError, match="Expected all input elements to have the same structure") as caught:
            make()
        for word in [*words, "batch_fn"]:
            assert word in str(caught.value)


def test_ragged_leaves_suggest_padding():
    with pytest.raises(ValueError, match=r"Pad them to one shape.*batch_and_pad"):
        batch(np.zeros(3), np.zeros(4))


def test_batch_and_pad_gives_every_batch_one_shape():
    fn = functools.partial(batch_and_pad, batch_size=3)
    batches = list(M.range(4).map(lambda x: {"x": x + 1, "y": np.full(2, x)}).batch(3, batch_fn=fn))
    assert [b["x"].tolist() for b in batches] == [[1, 2, 3], [4, 0, 0]]
    assert batches[1]["y"].tolist() == [[3, 3], [0, 0], [0, 0]]
    assert batch_and_pad([1], batch_size=2, pad_value=9).tolist() == [1, 9]
    with_tree = batch_and_pad([{"x": 1, "y": 2.0}], batch_size=2, pad_value={"x": 7, "y": 8})
    assert (with_tree["x"].tolist(), with_tree["y"].tolist()) == ([1, 7], [2.0, 8.0])


@pytest.mark.parametrize(
    ("values", "message"), [([], "at least one element"), ([1, 2, 3], r"at least the number of values \(3\), got 2")]
)
def test_batch_and_pad_names_what_does_not_fit(values, message):
    with pytest.raises(ValueError, match=message):
        batch_and_pad(values, batch_size=2)


def test_nbytes_counts_what_arrays_and_strings_hold():
    assert trees.nbytes({"a": np.zeros(1000), "b": ["x" * 500]}) > 8500
    assert trees.nbytes(5) < 200


JAX = textwrap.dedent(
    """
    import sys
    import numpy as np
    import grain
    assert "jax" not in sys.modules

    class Box:
        def __init__(self, value, name): self.value, self.name = value, name

    ds = grain.MapDataset.source([Box(1, "a"), Box(2, "a")]).batch(2)
    assert ds[0].dtype == object and "jax" not in sys.modules, "JAX is never imported for a tree"

    import jax
    jax.tree_util.register_pytree_node(Box, lambda box: ((box.value,), box.name), lambda name, c: Box(c[0], name))
    made = ds[0]
    assert type(made) is Box and made.name == "a" and made.value.tolist() == [1, 2]
    nested = grain.MapDataset.source([{"b": [Box(np.zeros(2), "n")]}] * 3).batch(3)[0]
    assert nested["b"][0].value.shape == (3, 2)
    arrays = grain.MapDataset.range(4).map(jax.numpy.asarray).batch(4)[0]
    assert np.asarray(arrays).tolist() == [0, 1, 2, 3]
    print("fine")
    """
)


def test_classes_registered_with_jax_are_containers_once_jax_is_there():
    pytest.importorskip("jax", reason="JAX is an optional package")
    ran = subprocess.run(
        [sys.executable, "-c", JAX],
        capture_output=True,
        text=True,
        env={"JAX_PLATFORMS": "cpu", "PATH": ""},
        timeout=120,
    )
    assert ran.stdout == "fine\n", ran.stderr


@pytest.mark.parametrize(
    "values",
    [[1, np.datetime64("2020-01-01")], [np.zeros(1, [("a", "i4")]), np.zeros(1)], [np.zeros(2), np.zeros(2, "M8[D]")]],
)
def test_what_has_no_dtype_in_common_is_an_error(values):
    with pytest.raises(TypeError, match="promoted"):
        trees.stack(values)


def test_integers_of_any_size_stay_what_they_are():
    assert trees.stack([2**100, 1]).tolist() == [2**100, 1]


@pytest.mark.parametrize("dtype", ["u1", "f4", "M8[s]", "O", "i4,f8"])
@pytest.mark.parametrize("shape", [(), (5,), (6, 1), (6, 3), (4, 6, 3), (4, 6, 4), (4, 6, 9), (0, 3), (4, 0)])
@pytest.mark.parametrize("view", [slice(None), slice(None, None, -1), slice(None, None, 2)])
def test_a_copy_is_equal_whatever_is_flipped_or_left_out(dtype, shape, view):
    whole = np.arange(math.prod(shape)).astype(dtype).reshape(shape)
    axes = range(whole.ndim)
    for axis in axes:
        array = whole[(slice(None),) * axis + (view,)]
        out = np.zeros(array.shape, array.dtype)
        trees.copy_into(out, array)
        np.testing.assert_array_equal(out, array, strict=True)
    for array in (whole, whole.T):
        out = np.zeros(array.shape, array.dtype)
        trees.copy_into(out, array)
        np.testing.assert_array_equal(out, array, strict=True)


@pytest.mark.parametrize("allocate", [None, np.empty])
@pytest.mark.parametrize("dtype", ["u1", "f4", ">i4", "M8[s]", "O", "i4,f8"])
@pytest.mark.parametrize("shape", [(5,), (6, 3), (4, 6, 3), (4, 6, 4), (4, 6, 9), (0, 3)])
def test_flipped_arrays_are_stacked_as_others_whoever_has_the_memory(dtype, shape, allocate):
    array = np.arange(math.prod(shape)).astype(dtype).reshape(shape)
    for axis in range(array.ndim):
        values = [array, np.flip(array, axis), array]
        for stacked in (trees.stack(values, allocate), *trees.stack([(value,) for value in values], allocate)):
            np.testing.assert_array_equal(stacked, np.stack(values), strict=True)
