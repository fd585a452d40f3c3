"""Whose memory it is, and when: a slot is used again only when nobody on either side looks at it."""

import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grain._src.transport.arena import MIN_SLOT_BYTES, Arena
from grain._src.transport.codec import encode

LARGE = MIN_SLOT_BYTES  # bytes; as many elements of any type are large enough for a slot


def stacked(arena: Arena, value: int, size: int = LARGE) -> np.ndarray[Any, Any]:
    """A batch that was stacked straight into shared memory."""
    array = arena.empty((size,), "i8")
    array[:] = value
    return array


def test_an_array_built_in_a_slot_is_handed_over_without_a_copy(wire: Any) -> None:
    got = wire.carry([{"x": stacked(wire.arena, 5)}])
    assert wire.arena.bytes_in_use == LARGE * 8
    assert (got["x"] == 5).all()
    wire.arena.peek(wire.arena._slots[0])[:8].view("i8")[0] = 77  # what the worker would write is seen: no copy
    assert got["x"][0] == 77


def test_arrays_are_writable_and_aligned(wire: Any) -> None:
    for got in wire.carry([[stacked(wire.arena, 5), np.arange(LARGE), np.arange(LARGE + 1, dtype="u1")]]):
        got += 1
        assert got.ctypes.data % 64 == 0


def test_a_slot_is_used_again_after_its_array_is_collected_and_not_before(wire: Any) -> None:
    first = wire.carry([stacked(wire.arena, 1)])
    second = wire.carry([stacked(wire.arena, 2)])
    wire.give_back()
    assert first.ctypes.data != second.ctypes.data
    place = first.ctypes.data
    view = first[10:20]
    del first
    assert wire.give_back() == []  # a view of it still lives
    del view
    assert wire.give_back() == [0]
    third = wire.carry([stacked(wire.arena, 3)])
    assert third.ctypes.data == place
    assert (second == 2).all()


@given(steps=st.lists(st.tuples(st.integers(0, 5), st.integers(1, 9), st.booleans()), max_size=40))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_kept_arrays_are_never_overwritten(steps: list[tuple[int, int, bool]], open_wire: Callable[..., Any]) -> None:
    wire = open_wire(LARGE * 8 * 20)
    kept: list[tuple[int, Any]] = []
    for number, (drop, blocks, straight) in enumerate(steps):
        size = LARGE * blocks // 3
        got = wire.carry([stacked(wire.arena, number, size) if straight else np.full(size, number)])
        kept.append((number, got))
        del kept[: drop if drop > 3 else 0], got
        wire.give_back()
        assert all((array == value).all() for value, array in kept)
    kept.clear()
    wire.give_back()
    assert wire.arena.bytes_in_use == 0
    wire.close()


def test_an_array_that_the_worker_still_holds_is_copied(wire: Any) -> None:
    cached = {"x": stacked(wire.arena, 5)}  # the dict is what is cached; the array has one reference only
    first, second = wire.carry([cached]), wire.carry([cached])
    first["x"][:] = 6
    assert (cached["x"] == 5).all()
    assert (second["x"] == 5).all()
    cached["x"][:] = 7
    assert (first["x"] == 6).all()
    del first, second
    wire.give_back()
    assert wire.arena.bytes_in_use == LARGE * 8
    del cached
    wire.arena.free(())
    assert wire.carry([stacked(wire.arena, 1)])[0] == 1
    wire.give_back()
    assert wire.arena.bytes_in_use == 0


def test_a_view_that_the_worker_keeps_makes_it_a_copy(wire: Any) -> None:
    box = [stacked(wire.arena, 5)]
    corner = box[0][:3]
    got = wire.carry(box)
    got[:] = 6
    assert corner.tolist() == [5, 5, 5]


def test_an_array_that_the_worker_still_holds_travels_in_the_message_when_memory_is_short(
    open_wire: Callable[..., Any],
) -> None:
    wire = open_wire(LARGE * 8)
    cached = stacked(wire.arena, 5)
    got = wire.carry([[cached, cached[::-1]]])
    assert wire.slots_sent == 0
    got[0][:] = 6
    assert (got[1] == 5).all() or (got[1] == 6).all()
    assert (cached == 5).all()


def test_the_same_array_twice_arrives_as_the_same_array(wire: Any) -> None:
    array = stacked(wire.arena, 5)
    box = [[array, array, np.arange(3)]]
    del array
    got = wire.carry(box)
    assert got[0] is got[1]
    assert wire.slots_sent == 1


def test_views_of_one_array_share_its_slot(wire: Any) -> None:
    array = stacked(wire.arena, 5).reshape(2, -1)
    array[1] = 6
    box = [[array[0], array[1], array[:, ::-1], array.T]]
    del array
    got = wire.carry(box)
    assert len({entry[0] for entry in wire.head[1]}) == 1
    assert [got[0][0], got[1][0], got[2][1, 0], got[3][0, 1]] == [5, 6, 6, 6]
    got[0][0] = 9
    assert got[3][0, 0] == 9
    del got
    assert len(wire.give_back()) == 1
    assert wire.arena.bytes_in_use == 0


def test_a_small_part_of_a_large_slot_does_not_keep_it(wire: Any) -> None:
    box = [stacked(wire.arena, 5, LARGE * 10)[: LARGE // 8]]
    got = wire.carry(box)
    assert wire.arena.bytes_in_use == LARGE
    assert (got == 5).all()


def test_an_array_that_is_never_sent_is_freed_when_it_is_collected(wire: Any) -> None:
    array = stacked(wire.arena, 5)
    view = array[3:]
    del array
    wire.arena.allocate(64)
    assert wire.arena.bytes_in_use == LARGE * 8 + 64
    del view
    wire.arena.allocate(64)
    assert wire.arena.bytes_in_use == 128


def test_a_message_that_is_not_decoded_gives_its_slots_back(wire: Any) -> None:
    wire.carry([np.arange(LARGE)])
    wire.give_back()
    array = stacked(wire.arena, 5)
    box = [[array, array[::-1], b"x" * 100_000]]
    del array
    encoded = encode(box, wire.arena)
    wire.leases.adopt(encoded.head, ())
    wire.leases.discard(encoded.head)
    assert len(wire.give_back()) == 2
    assert wire.arena.bytes_in_use == 0


def test_the_pool_grows_and_every_new_segment_is_announced_once(open_wire: Callable[..., Any]) -> None:
    wire = open_wire(1 << 30)
    kept, announced = [], []
    for number in range(30):
        kept.append(wire.carry([stacked(wire.arena, number, 1 << 18)]))  # 2 MB each
        announced += [segment for segment, _ in wire.head[0]]
    assert announced == [0, 1, 2]
    assert wire.arena.bytes_reserved == 64 << 20
    assert [array[0] for array in kept] == list(range(30))


def test_a_spent_budget_means_copies_and_goes_on(open_wire: Callable[..., Any]) -> None:
    wire = open_wire(4 * LARGE * 8)
    kept = []
    for number in range(12):
        kept.append(wire.carry([stacked(wire.arena, number)]))
        wire.give_back()
    assert [int(array.sum()) for array in kept] == [number * LARGE for number in range(12)]
    assert all(array.flags.writeable for array in kept)
    assert wire.arena.bytes_reserved <= 4 * LARGE * 8
    del kept[:4]
    wire.give_back()
    wire.carry([stacked(wire.arena, 5)])
    assert wire.slots_sent == 1


def test_an_array_larger_than_the_budget_is_an_ordinary_array() -> None:
    arena = Arena(1 << 20)
    assert arena.root_of(arena.empty((1 << 20,), "f8")) is None
    assert arena.allocate(2 << 20) is None
    assert arena.bytes_reserved == 0
    arena.close()


def test_small_arrays_and_objects_are_ordinary_arrays() -> None:
    arena = Arena(1 << 20)
    for array in (arena.empty(3, "f4"), arena.empty((), "f4"), arena.empty((LARGE,), object)):
        assert arena.root_of(array) is None
    arena.close()


def test_a_negative_budget_is_refused() -> None:
    with pytest.raises(ValueError, match="budget_bytes must not be negative, got -1"):
        Arena(-1)


@pytest.mark.parametrize("backing", ["memfd", "file"])
def test_arrays_outlive_both_ends(backing: str, open_wire: Callable[..., Any]) -> None:
    wire = open_wire(backing=backing)
    got = wire.carry([stacked(wire.arena, 5)])
    wire.close()
    gc.collect()
    got += 1
    assert (got == 6).all()
    del got
    assert wire.leases.take_released() in ([], [0])


@pytest.mark.parametrize("package", ["jax", "torch"])
def test_what_another_library_makes_of_an_array_keeps_its_slot(package: str, wire: Any) -> None:
    library = pytest.importorskip(package)
    got = wire.carry([stacked(wire.arena, 5).astype("f4") if package == "jax" else stacked(wire.arena, 5)])
    kept = library.device_put(got) if package == "jax" else library.from_numpy(got)
    del got
    wire.give_back()
    others = [wire.carry([stacked(wire.arena, number)]) for number in range(4)]
    assert bool((kept == 5).all())
    del kept, others
    gc.collect()
    wire.give_back()
    assert wire.arena.bytes_in_use == 0


def test_collection_in_other_threads_gives_slots_back(wire: Any) -> None:
    for _ in range(5):
        boxes = [[wire.carry([stacked(wire.arena, i)])] for i in range(8)]
        threads = [threading.Thread(target=box.clear) for box in boxes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(wire.give_back()) == 8
    assert wire.arena.bytes_in_use == 0


def test_threads_of_a_worker_can_build_arrays_at_once() -> None:
    arena = Arena(64 << 20)
    failures: list[int] = []

    def build(value: int) -> None:
        for _ in range(200):
            array = stacked(arena, value, LARGE // 8)
            if not (array == value).all():
                failures.append(value)

    threads = [threading.Thread(target=build, args=(value,)) for value in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    arena.allocate(64)
    assert arena.bytes_in_use == 64
    arena.close()


@pytest.mark.parametrize("alike", [True, False])
def test_many_small_elements_arrive_writable_and_one_that_is_kept_keeps_no_slot(wire: Any, alike: bool) -> None:
    def make() -> list[Any]:
        return [{"tokens": np.arange(1 + i % 50) if alike or i else None, "number": i} for i in range(3000)]

    got = wire.carry([make()])
    for one, other in zip(got, make(), strict=True):
        assert list(one) == list(other) and one["number"] == other["number"]
        np.testing.assert_array_equal(one["tokens"], other["tokens"], strict=True)
    kept = got[7]["tokens"]
    kept += 1
    del got, one, other
    wire.give_back()
    assert wire.arena.bytes_in_use == 0
    assert kept.tolist() == list(range(1, 9))
