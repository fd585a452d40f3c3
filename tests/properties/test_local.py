"""The laws within one process: access is iteration, threads change nothing, a state is where one was."""

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pipelines import build, build_map, map_pipelines, outcome, pipelines, plain, trace

import grain

pytestmark = pytest.mark.filterwarnings("ignore:.*dropped")
INLINE = grain.ReadOptions(0, 0)
THREADS = st.builds(grain.ReadOptions, st.integers(1, 3), st.sampled_from([1, 2, 7, 500]))


@given(map_pipelines)
def test_access_by_index_is_iteration(description):
    ds = build_map(description)
    with iter(ds.to_iter_dataset(INLINE, allow_nones=True)) as it:
        for index in range(min(len(ds), 60)):
            expected = outcome(lambda index=index: ds[index])
            assert outcome(lambda: next(it)) == expected
            if expected[0] != "element":
                it.set_state({"next_index": index + 1})


@given(map_pipelines, st.lists(st.integers(-200, 200), max_size=10))
def test_an_element_does_not_depend_on_what_was_asked_before(description, indices):
    ds, again = build_map(description), build_map(description)
    if not len(ds):
        return
    first = [outcome(lambda index=index: ds[index]) for index in indices]
    assert [outcome(lambda index=index: again[index]) for index in reversed(indices)] == first[::-1]


@given(map_pipelines, st.integers(0, 40), st.integers(1, 9))
def test_a_block_of_indices_is_its_indices(description, start, count):
    ds = build_map(description)
    if not len(ds):
        return
    stream = ds._map_node.stream(np.arange(start, start + count))
    for index in range(start, start + count):
        expected = outcome(lambda index=index: ds[index])
        assert outcome(lambda: next(stream)) == expected
        if expected[0] != "element":
            break


@given(pipelines, THREADS)
@example((("range", ["repeat"], False), []), grain.ReadOptions(3, 500))
def test_threads_give_what_inline_gives(description, threads):
    with iter(build(description, INLINE)) as inline, iter(build(description, threads)) as threaded:
        assert trace(threaded) == trace(inline)


def until_the_first_error(events):
    for at, event in enumerate(events):
        if event[0] not in ("element", "end"):
            return events[: at + 1]
    return events


@given(pipelines, st.booleans())
def test_restored_anywhere_is_never_stopped(description, threads):
    options = grain.ReadOptions(2, 5) if threads else INLINE
    with iter(build(description, options)) as it:
        start = it.get_state()
        events = trace(it)
        it.set_state(start)
        assert trace(it) == events, "an iterator can go back to its beginning"
    if "window" in description[1]:
        # A window is filled again from its start, so an error in it comes again, which those who went on have behind them.
        events = until_the_first_error(events)
    for at in range(0, len(events), max(1, len(events) // 6)):
        state = start if not at else events[at - 1][-1]
        with iter(build(description, options)) as it:
            it.set_state(json.loads(json.dumps(state)))
            assert it.get_state() == state
            assert trace(it)[: len(events) - at] == events[at:]


@given(map_pipelines)
def test_printing_never_fails_and_shows_every_step(description):
    ds = build_map(description)
    assert repr(ds)
    assert str(ds.to_iter_dataset())
    assert plain(repr(ds)) == repr(build_map(description))
