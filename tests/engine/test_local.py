"""A block may be computed in one go or in parts: the same outputs, marks and states."""

import pytest

import grain
from grain._src.engine.local import make_local
from grain._src.engine.plan import stage_of
from grain._src.engine.positions import Positions

M = grain.MapDataset


class Twice(grain.experimental.FlatMapTransform):
    max_fan_out = 3

    def flat_map(self, element):
        return [element] * (element % 3)


def draw(x, rng):
    return x, int(rng.integers(1000))


PIPELINES = {
    "elements": lambda ds: ds,
    "filter": lambda ds: ds.filter(lambda x: x % 3),
    "filter, random": lambda ds: ds.filter(lambda x: x % 3).random_map(draw, seed=1),
    "random": lambda ds: ds.random_map(draw, seed=1),
    "numbered": lambda ds: ds.map_with_index(lambda i, x: (i, x)),
    "batches": lambda ds: ds.batch(3).map(lambda batch: batch.tolist()),
    "numbered batches": lambda ds: ds.batch(3).map_with_index(lambda i, batch: (i, batch.tolist())),
    "flat map": lambda ds: grain.experimental.FlatMapIterDataset(ds, Twice()),
}


@pytest.mark.parametrize("most", [1, 2, 5])
@pytest.mark.parametrize("name", PIPELINES)
def test_parts_of_a_block_are_the_block(name, most):
    stage = stage_of(PIPELINES[name](M.range(40).to_iter_dataset(grain.ReadOptions(0, 0)))._node)
    local, state, stop = make_local(stage), Positions(stage).initial(), 36
    whole = local.run(None, state, stop)
    assert whole.state is None
    assert whole.error is None
    elements, marks = [], []
    while state is not None:
        part = local.run(None, state, stop, most)
        assert len(part.elements) <= most
        elements += part.elements
        marks += part.marks or []
        state = part.state
    assert elements == whole.elements
    assert marks == list(whole.marks or [])
