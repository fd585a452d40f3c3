"""Free space: no overlap, nothing lost, everything merges again."""

from hypothesis import given
from hypothesis import strategies as st

from grain._src.transport.freespace import FreeSpace


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 300), st.integers(0, 1000)), max_size=60))
def test_taken_ranges_never_overlap_and_all_space_comes_back(steps: list[tuple[bool, int, int]]) -> None:
    space = FreeSpace()
    space.give(0, 1000)
    taken: dict[int, int] = {}
    for take, size, pick in steps:
        if take or not taken:
            start = space.take(size)
            if start is not None:
                new = set(range(start, start + size))
                assert not any(new & set(range(s, s + n)) for s, n in taken.items())
                assert 0 <= start <= start + size <= 1000
                taken[start] = size
        else:
            start = sorted(taken)[pick % len(taken)]
            space.give(start, taken.pop(start))
        assert space.free_bytes() == 1000 - sum(taken.values())
    for start, size in taken.items():
        space.give(start, size)
    assert space.take(1000) == 0


def test_the_smallest_block_that_fits_is_taken() -> None:
    space = FreeSpace()
    space.give(0, 100)
    space.give(200, 40)
    assert space.take(40) == 200
    assert space.take(41) == 0


def test_blocks_that_do_not_touch_do_not_merge() -> None:
    space = FreeSpace()
    space.give(0, 100)
    space.give(101, 100)
    assert space.take(150) is None


def test_the_block_freed_last_is_used_first() -> None:
    space = FreeSpace()
    for start in (0, 100, 200):
        space.give(start, 50)
    assert [space.take(50), space.take(50)] == [200, 100]
