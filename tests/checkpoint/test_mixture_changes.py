"""A mixture of named components may change between save and restore."""

import itertools

import pytest

import grain


def component(start, count=1000):
    return grain.MapDataset.range(start, start + count).to_iter_dataset()


def take(it, count):
    return list(itertools.islice(it, count))


def of(elements, start):
    return [x for x in elements if start <= x < start + 1000]


def test_known_components_go_on_where_they_were_and_new_ones_start(tmp_path):
    it = iter(grain.IterDataset.mix({"a": component(0), "b": component(1000)}, {"a": 1, "b": 2}))
    before = take(it, 30)
    grain.checkpoint.save(tmp_path / "data.json", it)
    changed = grain.IterDataset.mix(
        {"b": component(1000), "c": component(2000), "a": component(0)}, {"a": 3, "b": 1, "c": 1}
    )
    again = iter(changed)
    take(again, 7)  # wherever the iterator is, a new component starts at its beginning
    after = take(grain.checkpoint.restore(tmp_path / "data.json", again), 50)
    assert of(before + after, 0) == list(range(40))
    assert of(before + after, 1000) == list(range(1000, 1030))
    assert of(after, 2000) == list(range(2000, 2010))


def test_a_component_may_go(tmp_path):
    it = iter(grain.IterDataset.mix({"a": component(0), "b": component(1000)}))
    before = take(it, 10)
    grain.checkpoint.save(tmp_path / "data.json", it)
    after = take(
        grain.checkpoint.restore(tmp_path / "data.json", iter(grain.IterDataset.mix({"b": component(1000)}))), 10
    )
    assert of(before + after, 1000) == list(range(1000, 1015))


def test_a_mixture_that_ended_goes_on_without_the_component_that_ran_out():
    it = iter(grain.IterDataset.mix({"a": component(0, 3), "b": component(1000)}))
    list(it)
    again = iter(grain.IterDataset.mix({"b": component(1000)}))
    again.set_state(it.get_state())
    assert next(again) == 1003


def test_unchanged_it_stays_ended():
    def make():
        return iter(grain.IterDataset.mix({"a": component(0, 3), "b": component(1000)}))

    it, again = make(), make()
    list(it)
    again.set_state(it.get_state())
    assert list(again) == []


def test_a_mixture_of_a_list_may_not_change():
    it = iter(grain.IterDataset.mix([component(0), component(1000)]))
    again = iter(grain.IterDataset.mix([component(0), component(1000), component(2000)]))
    with pytest.raises(ValueError, match="mapping"):
        again.set_state(it.get_state())


def test_a_mixture_inside_a_pipeline_may_change(tmp_path):
    def make(components):
        return iter(grain.IterDataset.mix(components).map(lambda x: x + 0).batch(2))

    it = make({"a": component(0), "b": component(1000)})
    take(it, 3)
    grain.checkpoint.save(tmp_path / "data.json", it)
    again = grain.checkpoint.restore(
        tmp_path / "data.json", make({"a": component(0), "b": component(1000), "c": component(2000)})
    )
    after = [int(x) for batch in take(again, 3) for x in batch]
    assert of(after, 0)[0] == of(after, 1000)[0] - 1000 == 3
    assert of(after, 2000) == [2000, 2001]
