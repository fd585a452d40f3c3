"""Long lists of alike elements by columns: the same elements again, and nothing packed that would come back different."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grain
from grain._src import trees
from grain._src.columns import pack, unpack
from grain._src.conformance.equality import same

LENGTH = 300


def images(dtype="u1", shape=(4, 3)):
    return [np.full(shape, i % 100, dtype) for i in range(LENGTH)]


def tokens():
    return [np.arange(i % 7, dtype=np.int32) for i in range(LENGTH)]


@pytest.mark.parametrize(
    "elements",
    [
        images(),
        tuple(images("f4", (2,))),
        images("M8[s]", (2, 2)),
        images("i4,f8", (2,)),
        images("f8", (0, 3)),
        images("f4", (0,)),
        images(">i2", (5,)),
        images("U3", (2,)),
        images("M8[s]", (3,)),
        [np.arange(6)[i % 3 :: 2] for i in range(LENGTH)],
        [{"x": np.arange(i % 5, dtype="m8[ns]")} for i in range(LENGTH)],
        tokens(),
        [{"image": image, "label": i, "name": f"n{i}"} for i, image in enumerate(images())],
        [{"a": a, "b": b, "c": [1]} for a, b in zip(images(), tokens(), strict=True)],
    ],
)
def test_elements_that_are_alike_come_back_as_they_were(elements):
    packed = pack(elements)
    assert packed is not None
    back = unpack(packed)
    assert same(back, elements)
    assert all(array.flags.writeable for array in trees.leaves(back) if isinstance(array, np.ndarray))


def changed(elements, number, element):
    return [*elements[:number], element, *elements[number + 1 :]]


READ_ONLY = np.zeros((4, 3), "u1")
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    "elements",
    [
        [],
        images()[:10],
        list(range(LENGTH)),
        ["text"] * LENGTH,
        np.zeros((LENGTH, 2)),
        images("O"),
        [np.float32(1)] * LENGTH,
        [np.array(i) for i in range(LENGTH)],
        [images()[0]] * LENGTH,
        changed(images(), 7, None),
        changed(images(), 7, np.zeros((4, 3), "u2")),
        changed(images(), 7, np.zeros((4, 4), "u1")),
        changed(images(), 7, np.ma.zeros((4, 3), "u1")),
        changed(images(), 7, np.zeros((3, 4), "u1").T),
        changed(images(), 7, READ_ONLY),
        changed(images(), 7, np.zeros((4, 3), np.dtype("u1", metadata={"unit": "m"}))),
        [{"image": image} if i != 7 else {"image": image, "more": 1} for i, image in enumerate(images())],
        [{"a": a, "b": 1} if i != 7 else {"b": 1, "a": a} for i, a in enumerate(images())],
        [{"image": READ_ONLY, "label": i} for i in range(LENGTH)],
    ],
)
def test_what_is_not_alike_is_left_alone(elements):
    assert pack(elements) is None


def test_what_occurs_twice_is_not_copied():
    element = {"image": np.zeros((4, 3))}
    assert pack([element, *[{"image": image} for image in images()], element]) is None
    shared = np.zeros((4, 3))
    assert pack([{"image": shared, "label": i} for i in range(LENGTH)]) is None
    assert pack([{"image": image, "again": image} for image in images()]) is None, "two columns have it in common"
    pairs = [{"x": x, "image": shared} for x in tokens()]
    assert pack(pairs).columns[1].values == [shared] * LENGTH, "what only occurs twice in one column stays as it is"
    assert pack([*pairs, pairs[0]]) is None


@pytest.mark.parametrize("elsewhere", [False, True], ids=["new", "held elsewhere too"])
@pytest.mark.parametrize("make", [images, tokens])
def test_who_else_holds_an_array_makes_no_difference(make, elsewhere):
    elements = [{"x": array} for array in make()]
    held = [element["x"] for element in elements] if elsewhere else []
    packed = pack(elements)
    assert type(packed.columns[0].values) is np.ndarray
    assert same(unpack(packed), elements)
    assert not any(np.shares_memory(array, packed.columns[0].values) for array in held)


@pytest.mark.parametrize("twice", [0, 1])
def test_an_array_that_is_there_twice_is_found_whoever_else_holds_it(twice):
    """Each array has as many holders as the others, and one of them is there twice all the same."""
    first, second = tokens(), tokens()
    held = [first[: 1 - twice], second[:twice]]
    second[twice], first[twice] = first[0], second[1]
    elements = [{"a": a, "b": b} for a, b in zip(first, second, strict=True)]
    assert pack(elements) is None
    assert held


@pytest.mark.parametrize("make", [images, lambda: images(shape=(5,)), tokens])
def test_arrays_that_cannot_be_written_stay_so(make):
    elements = [{"x": array} for array in make()]
    for element in elements:
        element["x"].flags.writeable = False
    packed = pack(elements)
    assert type(packed.columns[0].values) is np.ndarray
    for back in (unpack(packed), unpack(packed, copy=True), list(packed.part(0, LENGTH))):
        assert same(back, elements)
        assert not any(element["x"].flags.writeable for element in back)


def test_views_of_bytes_come_back_from_workers_as_they_were():
    """As tokens often are: `np.frombuffer` of a record gives what cannot be written."""
    ds = grain.MapDataset.range(2_000).map(lambda i: {"tokens": np.frombuffer(bytes(range(i % 50)), np.uint8)})
    inline = list(ds.to_iter_dataset(grain.ReadOptions(0, 0)))
    with iter(ds.to_iter_dataset().mp_prefetch(grain.MultiprocessingOptions(1))) as iterator:
        spread = list(iterator)
    assert same(spread, inline)
    assert not any(element["tokens"].flags.writeable for element in [*spread, *inline])


def test_large_arrays_stay_by_themselves():
    large = changed(tokens(), 7, np.zeros(1000, np.int32))
    assert pack(large, most_bytes=4000) is None
    packed = pack([{"tokens": a, "image": b} for a, b in zip(large, images(), strict=True)], most_bytes=4000)
    assert [type(column.values) for column in packed.columns] == [list, np.ndarray]


@pytest.mark.parametrize("make", [images, tokens])
def test_copies_have_memory_of_their_own(make):
    elements = [{"x": array} for array in make()]
    packed = pack(elements)
    back = unpack(packed, copy=True)
    assert same(back, elements)
    assert not any(np.shares_memory(one["x"], packed.columns[0].values) for one in back)


@pytest.mark.parametrize(("start", "stop"), [(0, LENGTH), (0, 0), (0, 64), (64, 128), (LENGTH - 1, LENGTH)])
def test_a_part_is_the_elements_from_one_place_to_another(start, stop):
    elements = [{"x": x, "image": image, "n": i} for i, (x, image) in enumerate(zip(tokens(), images(), strict=True))]
    packed = pack(elements)
    part = packed.part(start, stop)
    assert packed.size == LENGTH
    assert len(part) == stop - start
    assert part.keys == ("x", "image", "n")
    assert same(list(part), elements[start:stop])
    assert same(packed.elements(start, stop), elements[start:stop])
    assert not any(np.shares_memory(one["x"], packed.columns[0].values) for one in part if len(one["x"]))


@pytest.mark.parametrize("make", [tokens, lambda: images(shape=(4,))])
def test_the_vectors_of_a_part_are_had_without_its_elements(make):
    elements = [{"x": x, "image": image, "n": i} for i, (x, image) in enumerate(zip(make(), images(), strict=True))]
    packed = pack(elements)
    part = packed.part(100, 200)
    for copy in (False, True):
        vectors = part.vectors("x", copy)
        assert same(vectors, [element["x"] for element in elements[100:200]])
        assert copy != any(np.shares_memory(vector, packed.columns[0].values) for vector in vectors)
    views = part.buffers("x")
    assert (views is None) == (packed.columns[0].ends is None), "they can be had as memory where they are parts of one"
    if views is not None:
        dtype, own = views
        assert same([np.frombuffer(view, dtype) for view in own], vectors)
    assert part.vectors("image", False) is None, "matrices"
    assert part.buffers("image") is None
    assert part.buffers("z") is None
    assert part.vectors("n", False) is None, "numbers"
    assert part.vectors("z", False) is None, "they have no such thing"
    assert pack(make()).part(0, 9).vectors("x", False) is None, "they are no dicts"


@given(st.lists(st.integers(0, 20), min_size=LENGTH, max_size=LENGTH))
def test_sequences_of_any_lengths_come_back(lengths):
    elements = [np.arange(length) for length in lengths]
    assert same(unpack(pack(elements)), elements)


def test_workers_share_the_memory_of_a_source_of_many_arrays():
    elements = [{"image": np.full((28, 28), i % 256, "u1"), "label": i} for i in range(2_000)]
    ds = (
        grain.MapDataset.source(elements)
        .shuffle(seed=1)
        .map(lambda e: {**e, "whole": np.array(e["image"].base.base.nbytes if e["image"].base is not None else 0)})
    )
    inline = list(ds.map(lambda e: (e["label"], e["image"].copy())).to_iter_dataset(grain.ReadOptions(0, 0)))
    with iter(ds.to_iter_dataset().mp_prefetch(grain.MultiprocessingOptions(2))) as iterator:
        for element, (label, image) in zip(iterator, inline, strict=True):
            assert element["label"] == label
            np.testing.assert_array_equal(element["image"], image, strict=True)
            assert element["whole"] >= 2_000 * 28 * 28
