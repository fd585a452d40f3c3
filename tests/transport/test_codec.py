"""Round trips: whatever an element holds arrives as it is inline, in slots or in the message."""

import collections
import dataclasses
import datetime
import enum
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grain._src.transport.arena import MIN_SLOT_BYTES, Arena
from grain._src.transport.codec import decode, encode

LARGE = MIN_SLOT_BYTES
SIZES = [0, 1, 3, LARGE]
BUDGETS = {"slots": 64 << 20, "no budget": 0}


@dataclasses.dataclass
class Example:
    image: np.ndarray[Any, Any]
    label: int


class Pair(NamedTuple):
    left: Any
    right: Any


class Colour(enum.Enum):
    RED = 1


def same(got: Any, expected: Any) -> bool:
    """Equal in type, dtype, shape, contents and whether it can be written to."""
    if type(got) is not type(expected):
        return False
    if isinstance(expected, np.ndarray):
        return (
            got.dtype == expected.dtype
            and got.shape == expected.shape
            and got.flags.writeable == expected.flags.writeable
            and got.flags.fnc == expected.flags.fnc
            and (got.tolist() == expected.tolist() if expected.dtype.hasobject else got.tobytes() == expected.tobytes())
        )
    if isinstance(expected, dict):
        return list(got) == list(expected) and all(same(got[key], expected[key]) for key in expected)
    if isinstance(expected, (list, tuple)):
        return len(got) == len(expected) and all(map(same, got, expected))
    return bool(got == expected)


@pytest.fixture(params=list(BUDGETS))
def carry(request: pytest.FixtureRequest, open_wire: Callable[..., Any]) -> Callable[[Any], Any]:
    wire = open_wire(BUDGETS[request.param])

    def carry_one(obj: Any) -> Any:
        return wire.carry([obj])

    return carry_one


DTYPES = st.one_of(
    hnp.scalar_dtypes(),
    hnp.byte_string_dtypes(),
    hnp.unicode_string_dtypes(),
    hnp.array_dtypes(),
)
ARRAYS = DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, min_side=0, max_dims=3)))
LEAVES = st.one_of(st.integers(), st.floats(allow_nan=False), st.text(), st.binary(), st.none(), st.booleans(), ARRAYS)
TREES = st.recursive(
    LEAVES,
    lambda tree: st.one_of(
        st.lists(tree, max_size=4),
        st.dictionaries(st.text(max_size=5), tree, max_size=4),
        st.tuples(tree, tree),
        st.builds(Pair, tree, tree),
    ),
    max_leaves=12,
)


@given(tree=TREES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
def test_any_tree_arrives_as_it_was(tree: Any, carry: Callable[[Any], Any]) -> None:
    assert same(carry(tree), tree)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "dtype", ["bool", "i1", "<u8", ">i4", "f2", "f8", "c16", "S5", "U3", "M8[ns]", "m8[3s]", "V7", "i4,(2,)f8", "O"]
)
def test_every_kind_of_dtype_arrives(dtype: str, size: int, carry: Callable[[Any], Any]) -> None:
    array = np.zeros(size, dtype)
    if dtype == "O":
        array[:] = [{"i": i} for i in range(size)]
    elif dtype == "U3":
        array[:] = "añb"
    else:
        array.view("u1")[:] = np.arange(array.nbytes) % (2 if dtype == "bool" else 100)
    assert same(carry(array), array)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "int4"])
def test_ml_dtypes_arrive(name: str, size: int, carry: Callable[[Any], Any]) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = (np.arange(size) % 7).astype(getattr(ml_dtypes, name))
    assert same(carry(array), array)


LARGE_CUBE = np.arange(20 * 30 * 40, dtype="f8").reshape(20, 30, 40)
SMALL_CUBE = LARGE_CUBE[:2, :3, :4].copy()


@pytest.mark.parametrize("cube", [SMALL_CUBE, LARGE_CUBE], ids=["small", "large"])
@pytest.mark.parametrize(
    "layout",
    [
        np.asfortranarray,
        lambda cube: cube[:, ::-1],
        lambda cube: cube[::2, 1:, ::3],
        lambda cube: cube.transpose(0, 2, 1),
        lambda cube: cube.T,
        lambda cube: cube[..., :0],
        lambda cube: cube[:, None],
        lambda cube: np.broadcast_to(cube[0], (9, *cube.shape[1:])),
        lambda cube: np.lib.stride_tricks.sliding_window_view(cube.ravel(), 3),
    ],
    ids=["fortran", "flipped", "strided", "transposed", "T", "empty", "new axis", "broadcast", "windows"],
)
def test_every_layout_arrives(layout: Any, cube: Any, carry: Callable[[Any], Any]) -> None:
    assert same(carry(layout(cube.copy())), layout(cube.copy()))


@pytest.mark.parametrize("size", SIZES)
def test_read_only_stays_read_only_and_writable_stays_writable(size: int, carry: Callable[[Any], Any]) -> None:
    frozen = np.arange(size)
    frozen.flags.writeable = False
    got = carry({"frozen": frozen, "open": np.arange(size)})
    assert not got["frozen"].flags.writeable
    got["open"][:] = 7
    assert got["open"].tolist() == [7] * size


def test_dtype_metadata_and_alignment_survive(carry: Callable[[Any], Any]) -> None:
    aligned = np.zeros(LARGE, np.dtype([("a", "i1"), ("b", "f8")], align=True))
    noted = np.zeros(LARGE, np.dtype("f4", metadata={"unit": "m"}))
    got = carry([aligned, noted])
    assert got[0].dtype.isalignedstruct
    assert got[1].dtype.metadata == {"unit": "m"}


def test_subclasses_of_arrays_keep_their_type(carry: Callable[[Any], Any]) -> None:
    masked = np.ma.masked_array(np.arange(LARGE), np.arange(LARGE) % 3 == 0)
    got = carry([masked, np.rec.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f4")])])
    assert isinstance(got[0], np.ma.MaskedArray)
    assert got[0].mask.tolist() == masked.mask.tolist()
    assert got[0].sum() == masked.sum()
    assert isinstance(got[1], np.recarray)
    assert got[1].a.tolist() == [1]


def test_everyday_objects_arrive(carry: Callable[[Any], Any]) -> None:
    values = [
        np.float32(1.5),
        np.datetime64("2020-01-01"),
        np.bool_(True),
        Colour.RED,
        datetime.date(2020, 2, 29),
        collections.OrderedDict(b=1, a=2),
        {1, 2},
        frozenset("ab"),
        range(5),
        slice(1, 2),
        1 << 200,
        np.dtype("f4"),
        b"x" * 100_000,
        bytearray(b"y" * 100_000),
        "é" * 50_000,
    ]
    got = carry(values)
    assert got == values
    assert [type(value) for value in got] == [type(value) for value in values]


def test_dataclasses_and_named_tuples_arrive(carry: Callable[[Any], Any]) -> None:
    got = carry([Example(np.ones((64, 64)), 3), Pair(np.zeros(3), "x")])
    assert isinstance(got[0], Example)
    assert same(got[0].image, np.ones((64, 64)))
    assert same(got[1], Pair(np.zeros(3), "x"))


def test_a_local_class_and_a_function_arrive(carry: Callable[[Any], Any]) -> None:
    class Local:
        def __init__(self, data: Any) -> None:
            self.data = data

    got = carry({"object": Local(np.arange(LARGE)), "function": lambda x: x + 1})
    assert isinstance(got["object"], Local)
    assert same(got["object"].data, np.arange(LARGE))
    assert got["function"](1) == 2


def test_what_cannot_be_pickled_raises_and_leaves_no_slot() -> None:
    arena = Arena(64 << 20)
    box = [{"array": np.zeros(LARGE), "generator": (i for i in range(3))}]
    with pytest.raises(TypeError, match="generator"):
        encode(box, arena)
    box.clear()
    arena.free(())
    assert arena.allocate(64) is not None
    assert arena.bytes_in_use == 64
    arena.close()


def test_other_providers_of_buffers_use_slots_too(wire: Any) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"x": np.arange(100_000)})
    assert wire.carry([table]).equals(table)
    assert wire.slots_sent > 0


@pytest.mark.parametrize("size", [3, LARGE])
def test_torch_tensors_arrive(size: int, carry: Callable[[Any], Any]) -> None:
    torch = pytest.importorskip("torch")
    base = torch.arange(size)
    tensors = [
        base.to(dtype) for dtype in (torch.float32, torch.int64, torch.bfloat16, torch.float16, torch.float8_e5m2)
    ]
    tensors += [
        base > 1,
        torch.tensor(5),
        torch.zeros(0, 3),
        base.reshape(1, -1).T,
        torch.complex(base * 1.0, base * 2.0),
    ]
    for got, tensor in zip(carry(tensors), tensors, strict=True):
        assert type(got) is torch.Tensor
        assert got.dtype == tensor.dtype
        assert got.shape == tensor.shape
        assert got.to(torch.complex64).tolist() == tensor.to(torch.complex64).tolist()
        got.zero_()


def test_a_large_torch_tensor_travels_in_a_slot(wire: Any) -> None:
    torch = pytest.importorskip("torch")
    got = wire.carry([torch.arange(100_000)])
    assert wire.slots_sent == 1
    assert torch.equal(got, torch.arange(100_000))


@pytest.mark.parametrize("size", [3, LARGE])
def test_jax_arrays_arrive(size: int, carry: Callable[[Any], Any]) -> None:
    jax = pytest.importorskip("jax")
    arrays = [jax.numpy.arange(size), jax.numpy.ones((size, 2), "bfloat16"), jax.numpy.asarray(1.5)]
    for got, array in zip(carry(arrays), arrays, strict=True):
        assert type(got) is type(array)
        assert got.dtype == array.dtype
        assert got.weak_type == array.weak_type
        assert (np.asarray(got) == np.asarray(array)).all()


def test_elements_without_arrays_are_plain_pickle() -> None:
    elements = list(range(4096))
    encoded = encode([elements], None)
    assert encoded.head == ((), (), None)
    assert pickle.loads(encoded.body) == elements
    assert decode(encoded.head, encoded.body) == elements


def test_a_long_stream_travels_in_a_slot_and_gives_it_back(wire: Any) -> None:
    records = [bytes([i]) * 1000 for i in range(100)]
    assert wire.carry([records]) == records
    assert wire.head[2] is not None
    assert len(wire.give_back()) == 1
    assert wire.arena.bytes_in_use == 0
