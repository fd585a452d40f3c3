"""The laws over processes: any number of workers gives the same elements, errors and states, and resumes any other."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pipelines import ITER_OPS, MAP_OPS, build, pipelines, trace

import grain
from grain._src.engine.processes import Pool, spread
from grain._src.engine.run import iterate
from grain._src.nodes import context

pytestmark = pytest.mark.filterwarnings("ignore:.*dropped")
INLINE = grain.ReadOptions(0, 0)
COUNTS = (1, 2, 5)


@pytest.fixture(scope="module")
def pools():
    """Workers that all pipelines of this module share: starting them would take longer than everything else."""
    made = {count: Pool(grain.MultiprocessingOptions(count)) for count in COUNTS}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spread, "_SECONDS_A_TRIP", -1.0)  # steps after a merge go to workers, however cheap they are
        yield made
    for pool in made.values():
        pool.close()


def start(ds, pool):
    with context.using(context.RunContext(workers=pool)):
        return iterate(ds._node)


def check(description, pools):
    with iter(build(description, INLINE)) as it:
        begin = it.get_state()
        events = trace(it)
    states = [begin, *(event[-1] for event in events)]
    for count, pool in pools.items():
        it = start(build(description, INLINE), pool)
        assert it.get_state() == begin
        assert trace(it) == events, f"{count} workers"
        it.close()
    if "window" in description[1] and any(event[0] not in ("element", "end") for event in events):
        return  # a window is filled again from its start, and an error in it comes again
    # A state taken with one number of workers goes on with another.
    for at in range(1, len(events) - 1, max(1, len(events) // 3)):
        pool = pools[COUNTS[at % len(COUNTS)]]
        it = start(build(description, INLINE), pool)
        it.set_state(json.loads(json.dumps(states[at])))
        assert it.get_state() == states[at]
        assert trace(it)[: len(events) - at] == events[at:]
        it.close()


@pytest.mark.parametrize("name", sorted(MAP_OPS))
def test_every_transformation_with_random_access(name, pools):
    check((("range", ["shuffle", name, "number"], False), []), pools)
    check((("list", ["fail", name, "hole"], False), ["stack", "number"]), pools)
    check((("array", [name, "random"], True), ["filter", "random"]), pools)


@pytest.mark.parametrize("name", sorted(ITER_OPS))
def test_every_transformation_of_a_stream(name, pools):
    check((("range", ["shuffle"], False), [name, "map"]), pools)
    check((("list", ["hole"], False), ["fail", name, "number"]), pools)
    check((("array", ["filter"], False), ["stack", name, "random"]), pools)
    check((("range", ["repeat", "fail"], True), ["filter", name, "batch"]), pools)


@settings(max_examples=40)
@given(pipelines)
@example((("range", ["hole"], False), ["stack", "number", "filter", "random"]))
@example((("range", ["shuffle", "fail"], False), ["fan", "fail", "batch"]))
@example((("range", [], False), ["fail", "fail", "stack as it is", "fail", "number", "fail"]))
def test_random_pipelines(pools, description):
    check(description, pools)


def test_the_public_way_gives_the_same():
    description = (
        ("range", ["shuffle", "repeat", "fail", "hole"], False),
        ["filter", "random", "fan", "stack", "number"],
    )
    with iter(build(description, INLINE)) as it:
        events = trace(it)
    for count in (0, 2):
        ds = build(description, INLINE).mp_prefetch(grain.MultiprocessingOptions(count, per_worker_buffer_size=3))
        with iter(ds) as it:
            assert trace(it) == events


@settings(max_examples=15)
@given(pipelines, st.lists(st.integers(0, 30), min_size=2, max_size=4))
def test_workers_stay_warm_while_the_position_jumps(pools, description, places):
    with iter(build(description, INLINE)) as it:
        states = [it.get_state(), *(event[-1] for event in trace(it))]
        inline = {}
        for place in places:
            it.set_state(states[place % len(states)])
            inline[place] = trace(it, 5)
    if "window" in description[1]:
        return
    it = start(build(description, INLINE), pools[2])
    for place in places:
        it.set_state(states[place % len(states)])
        assert trace(it, 5) == inline[place]
    it.close()
