"""One copy for all workers, and an answer to why something cannot be sent."""

import dataclasses
import functools
import os
import pickle
import threading
from typing import Any

import numpy as np
import pytest

from grain._src.transport.share import dump_shared, load_shared
from grain._src.transport.unpicklable import explain_unpicklable

MEGA = 1 << 20


@dataclasses.dataclass(frozen=True)
class Source:
    images: Any
    transform: Any = None


def load_copy(shared: Any) -> Any:
    """What one more worker gets."""
    return load_shared(shared.payload, tuple(os.dup(fd) for fd in shared.fds))


def test_a_small_object_needs_no_segment() -> None:
    shared = dump_shared(Source(np.arange(3), lambda x: x + 1))
    assert shared.fds == ()
    got = load_copy(shared)
    assert got.images.tolist() == [0, 1, 2]
    assert got.transform(1) == 2


@pytest.mark.parametrize("backing", ["memfd", "file"])
def test_large_arrays_are_in_one_segment_and_not_in_the_payload(backing: Any) -> None:
    arrays = [np.arange(MEGA // 8 + 1), np.asfortranarray(np.arange(MEGA // 4).reshape(2, -1)), np.arange(MEGA)[::-2]]
    shared = dump_shared(arrays, backing=backing)
    assert len(shared.fds) == 1
    assert len(shared.payload) < 10_000
    for got, array in zip(load_copy(shared), arrays, strict=True):
        assert (got == array).all()
        assert got.flags.fnc == array.flags.fnc
        assert got.ctypes.data % 64 == 0
    shared.close()


def test_a_worker_that_writes_changes_its_own_copy_only() -> None:
    shared = dump_shared(np.zeros(MEGA))
    one, other = load_copy(shared), load_copy(shared)
    one[:] = 5
    assert not other.any()
    assert not load_copy(shared).any()
    shared.close()


def test_read_only_arrays_stay_read_only() -> None:
    array = np.zeros(MEGA)
    array.flags.writeable = False
    strided = np.broadcast_to(np.zeros(3), (MEGA, 3))
    shared = dump_shared([array, strided])
    assert [got.flags.writeable for got in load_copy(shared)] == [False, False]
    shared.close()


def test_a_large_stream_is_shared_too() -> None:
    records = [f"record {i}" for i in range(200_000)]
    shared = dump_shared({"records": records, "array": np.ones(MEGA)})
    assert len(shared.payload) < 1000
    got = load_copy(shared)
    assert got["records"] == records
    assert got["array"].sum() == MEGA
    shared.close()


def test_one_copy_of_an_array_that_occurs_twice() -> None:
    array = np.zeros(MEGA)
    shared = dump_shared([array, array])
    assert os.fstat(shared.fds[0]).st_size == array.nbytes
    got = load_copy(shared)
    assert got[0] is got[1]
    shared.close()


@pytest.mark.parametrize("part", [slice(None), slice(100_001, 300_000)], ids=["all", "part"])
def test_a_mapped_file_is_mapped_again_and_not_copied(part: slice, tmp_path: Any) -> None:
    tokens = np.arange(400_000, dtype="u2")
    path = tmp_path / "tokens.bin"
    path.write_bytes(b"head" + tokens.tobytes())
    array = np.memmap(path, "u2", "r", 4)[part]
    shared = dump_shared(array)
    assert shared.fds == ()
    assert len(shared.payload) < 1000
    got = load_copy(shared)
    assert isinstance(got, np.memmap)
    assert not got.flags.writeable
    assert (got == tokens[part]).all()


def test_private_changes_of_a_mapped_file_travel(tmp_path: Any) -> None:
    path = tmp_path / "tokens.bin"
    path.write_bytes(bytes(1000))
    array = np.memmap(path, "u1", "c")
    array[5] = 7
    strided = np.memmap(path, "u1", "r")[::2]
    got = load_copy(dump_shared([array, strided]))
    assert got[0][5] == 7
    assert got[1].shape == (500,)


def test_torch_tensors_are_shared() -> None:
    torch = pytest.importorskip("torch")
    shared = dump_shared(torch.arange(MEGA))
    assert len(shared.fds) == 1
    assert torch.equal(load_copy(shared), torch.arange(MEGA))
    shared.close()


def test_loading_closes_the_descriptor() -> None:
    shared = dump_shared(np.zeros(MEGA))
    load_shared(shared.payload, shared.fds)
    with pytest.raises(OSError):
        os.fstat(shared.fds[0])


def test_what_cannot_be_sent_is_named() -> None:
    lock = threading.Lock()
    with pytest.raises(
        pickle.PicklingError, match=r"^Source\.transform\.<closure lock> cannot be pickled: it is a _thr"
    ):
        dump_shared(Source(np.zeros(3), lambda x: (lock, x)))


class Slotted:
    __slots__ = ("handle",)

    def __init__(self, handle: Any) -> None:
        self.handle = handle


class Careful:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.generator = (i for i in range(3))

    def __getstate__(self) -> dict[str, Any]:
        return {"generator": self.generator}


def with_default(x: Any, lock: Any) -> Any:
    return x


LOCK = threading.Lock()


@pytest.mark.parametrize(
    ("obj", "path"),
    [
        ({"a": [1, {"b": LOCK}]}, "dict['a'][1]['b']"),
        ((Slotted(LOCK),), "tuple[0].handle"),
        (functools.partial(with_default, lock=LOCK), "partial.keywords['lock']"),
        (functools.partial(with_default, LOCK), "partial.args[0]"),
        (Careful(), "Careful.generator"),
        ([Source(Slotted(LOCK)).__repr__], "list[0].__self__.images.handle"),
        (lambda x, lock=LOCK: x, "function.<default 0>"),
        (LOCK, "lock"),
    ],
    ids=["containers", "slots", "keyword", "argument", "getstate", "method", "default", "itself"],
)
def test_the_way_to_the_part_that_cannot_be_pickled(obj: Any, path: str) -> None:
    assert explain_unpicklable(obj).startswith(f"{path} cannot be pickled: it is a ")


def test_an_endless_structure_ends() -> None:
    loop: list[Any] = [LOCK]
    loop.insert(0, loop)
    assert explain_unpicklable(loop, "pipeline").startswith("pipeline[1] cannot be pickled")


def test_what_can_be_pickled_is_not_blamed() -> None:
    assert explain_unpicklable([1]) == "list can be pickled"
