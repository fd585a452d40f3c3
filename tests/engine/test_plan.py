"""The planner: which steps any worker can compute for any positions, and which run over the merged stream."""

import pytest

import grain
from grain._src.engine.plan import Stage, remote_of, spreads_of, stage_of
from grain._src.engine.positions import Positions
from grain._src.nodes.to_iter import ToIter
from grain.experimental import FlatMapIterDataset, ThreadPrefetchIterDataset
from grain.transforms import FlatMap

M, I = grain.MapDataset, grain.IterDataset  # noqa: E741


class Twice(FlatMap):
    max_fan_out = 2

    def flat_map(self, element):
        return [element] * 2


def ident(*args):
    return args[-1]


def stream():
    return M.range(100).shuffle(seed=1).to_iter_dataset()


def flat(ds):
    return FlatMapIterDataset(ds, Twice())


@pytest.mark.parametrize(
    ("ds", "shape"),
    [
        (stream(), Stage((), 1, False, False, False)),
        (M.range(9).filter(ident).to_iter_dataset(), Stage((), 1, False, False, True)),
        (M.range(9).filter(ident).to_iter_dataset(allow_nones=True), Stage((), 1, False, False, False)),
        (stream().map(ident).seed(1), Stage((), 1, False, False, False)),
        (stream().filter(ident), Stage((), 1, False, False, True)),
        (stream().batch(4), Stage((), 4, True, False, False)),
        (stream().batch(4).map(ident).batch(3), Stage((), 12, True, False, False)),
        (stream().map_with_index(ident), Stage((), 1, True, False, False)),
        (stream().random_map(ident, seed=1), Stage((), 1, False, False, False)),
        (stream().batch(2).random_map(ident, seed=1), Stage((), 2, True, False, False)),
        (stream().filter(ident).random_map(ident, seed=1), Stage((), 1, False, False, True)),
        (stream().batch(2).filter(ident), Stage((), 2, True, False, True)),
        (flat(stream()), Stage((), 1, False, True, False)),
        (flat(stream()).map(ident), Stage((), 1, False, True, False)),
        (flat(stream().filter(ident)), Stage((), 1, False, True, True)),
    ],
)
def test_a_stage_goes_on_while_outputs_depend_on_known_positions(ds, shape):
    stage = stage_of(ds._node)
    assert stage is not None
    assert (stage.unit, stage.dense, stage.grouped, stage.thinned) == (
        shape.unit,
        shape.dense,
        shape.grouped,
        shape.thinned,
    )
    assert isinstance(stage.root, ToIter)
    assert stage.node is ds._node


@pytest.mark.parametrize(
    "ds",
    [
        stream().filter(ident).batch(4),
        M.range(9).filter(ident).to_iter_dataset().batch(4),
        stream().filter(ident).map_with_index(ident),
        flat(stream()).batch(2),
        flat(stream().batch(2).filter(ident)),
        flat(stream()).random_map(ident, seed=1),
        flat(stream()).map_with_index(ident),
        I.mix([stream(), stream()]),
        I.mix([stream()]).map(ident),
        ThreadPrefetchIterDataset(stream(), prefetch_buffer_size=2),
        stream().filter(ident).batch(4).map(ident),
    ],
)
def test_what_depends_on_the_order_is_no_stage(ds):
    assert stage_of(ds._node) is None


def test_steps_after_an_ordered_one_are_spread_and_cut_where_numbering_needs_the_merge():
    ordered = stream().filter(ident).batch(4)
    ds = ordered.map(ident).filter(ident).map_with_index(ident).random_map(ident, seed=1)
    above, spreads = spreads_of(ds._node)
    assert above is ordered._node
    assert [[step.name for step in spread.steps] for spread in spreads] == [
        ["map", "filter"],
        ["map_with_index", "random_map"],
    ]
    above, spreads = spreads_of(ordered.map_with_index(ident).map(ident).map_with_index(ident)._node)
    assert [[step.name for step in spread.steps] for spread in spreads] == [
        ["map_with_index", "map"],
        ["map_with_index"],
    ]


def test_only_a_stream_without_parents_runs_remotely():
    class Own(I):
        def __iter__(self):
            raise NotImplementedError

    assert remote_of(Own()._node) is not None
    assert remote_of(Own(stream())._node) is None
    assert remote_of(stream()._node) is None


@pytest.mark.parametrize(
    "ds",
    [
        stream(),
        stream().batch(4),
        stream().batch(7, drop_remainder=True),
        stream().map_with_index(ident).batch(3).random_map(ident, seed=1).map_with_index(ident),
        stream().random_map(ident, seed=2).batch(6).batch(2).map_with_index(ident),
        stream().batch(7, drop_remainder=True).map_with_index(ident),
        stream().batch(7, drop_remainder=True).batch(3).map_with_index(ident).batch(2).random_map(ident, seed=1),
    ],
)
def test_a_state_is_a_position_and_back(ds):
    stage = stage_of(ds._node)
    positions = Positions(stage)
    with iter(ds) as it:
        assert positions.initial() == it.get_state()
        assert positions.of(it.get_state()) == 0
        states = [it.get_state()]
        for _ in it:
            states.append(it.get_state())
        states.append(it.get_state())
    for one in states:
        for other in states:
            if positions.of(one) <= positions.of(other):
                assert positions.moved(one, positions.of(other)) == other


def test_a_state_of_another_pipeline_is_no_position():
    positions = Positions(stage_of(stream().map_with_index(ident)._node))
    with pytest.raises(ValueError, match="has no 'counter'"):
        positions.of({"next_index": 3})


def test_print_says_who_computes_each_step():
    ds = stream().filter(ident).batch(4).map(ident).mp_prefetch(grain.MultiprocessingOptions(num_workers=2))
    lines = [line.split("  ")[0] + " | " + line.split("  ")[-1].strip() for line in str(ds).splitlines()]
    assert lines == [
        "range(0, 100, 1) | 2 worker processes",
        "shuffle(seed=1) | 2 worker processes",
        "to_iter_dataset() | 2 worker processes",
        "filter(function=ident) | 2 worker processes",
        "batch(batch_size=4) | this thread, in order",
        "map(function=ident) | 2 worker processes, where it pays",
        "mp_prefetch(num_workers=2) | mp_prefetch(num_workers=2)",
    ]
    assert "up to 16 threads, ahead" in str(stream().map(ident))
    assert "this thread" in str(M.range(3).to_iter_dataset(grain.ReadOptions(0, 0)).map(ident))
    assert "a thread, ahead, in order" in str(ThreadPrefetchIterDataset(stream().batch(2), prefetch_buffer_size=2))
