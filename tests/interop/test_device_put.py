"""Prefetching to devices: the same elements, states of what was seen, nothing left running."""

import gc
import threading

import numpy as np
import pytest

import grain
from grain.experimental import device_put

jax = pytest.importorskip("jax")
pytestmark = pytest.mark.filterwarnings("default")  # of JAX


def device():
    return jax.devices("cpu")[0]


def pipeline(workers=0):
    ds = grain.MapDataset.range(40).shuffle(seed=1).map(lambda x: {"x": np.full(3, x, np.float32), "y": x})
    return ds.to_iter_dataset().batch(4).mp_prefetch(grain.MultiprocessingOptions(num_workers=workers))


def plain(batches):
    return [batch["x"].tolist() + batch["y"].tolist() for batch in batches]


def reading_ahead():
    return {thread for thread in threading.enumerate() if thread.name.startswith("grain")}


@pytest.mark.parametrize("sizes", [(4, 2), (0, 0), (0, 2), (1, 0), (100, 100)])
def test_elements_are_the_same_on_the_device(sizes):
    ds = device_put(pipeline(), device(), cpu_buffer_size=sizes[0], device_buffer_size=sizes[1])
    batches = list(ds)
    assert plain(batches) == plain(pipeline())
    assert isinstance(batches[0]["x"], jax.Array)
    assert batches[0]["x"].devices() == {device()}


@pytest.mark.parametrize("size", [0, 2])
def test_a_dataset_with_random_access_is_taken_as_it_is(size):
    ds = grain.MapDataset.range(40).map(lambda x: {"x": np.full(3, x, np.float32), "y": x}).batch(4)
    it = iter(device_put(ds, device(), cpu_buffer_size=size))
    batch = next(it)
    assert isinstance(batch["x"], jax.Array) and it.get_state() == {"next_index": 1}
    assert plain([batch, *it]) == plain(ds)


def test_the_state_is_that_of_what_was_seen_not_of_what_is_ahead():
    it = iter(device_put(pipeline(), device()))
    for _ in range(3):
        next(it)
    assert it.get_state() == {"next_index": 12}
    again = iter(pipeline())
    again.set_state(it.get_state())
    assert plain(again) == plain(it)


def test_a_state_is_restored_while_elements_are_ahead():
    it = iter(device_put(pipeline(), device()))
    first = plain([next(it), next(it)])
    it.set_state({"next_index": 0})
    assert plain([next(it), next(it)]) == first


def test_closing_leaves_no_thread():
    before = reading_ahead()
    it = iter(device_put(pipeline(), device()))
    next(it)
    assert reading_ahead() - before
    it.close()
    assert not reading_ahead() - before
    with pytest.raises(ValueError, match="closed"):
        next(it)


def test_an_iterator_that_nobody_holds_leaves_no_thread():
    before = reading_ahead()
    it = iter(device_put(pipeline(), device()))
    next(it)
    del it
    gc.collect()
    assert not reading_ahead() - before


def test_an_error_comes_at_its_place():
    def fail(x):
        if x == 9:
            raise KeyError("nine")
        return x

    it = iter(device_put(grain.MapDataset.range(20).map(fail).to_iter_dataset().batch(2), device()))
    assert [next(it).tolist() for _ in range(4)] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    with pytest.raises(KeyError, match="nine"):
        next(it)


def test_a_sharding_lays_batches_out():
    sharding = jax.sharding.SingleDeviceSharding(device())
    assert next(iter(device_put(pipeline(), sharding)))["x"].sharding == sharding


def test_bad_arguments_fail_at_construction():
    with pytest.raises(TypeError, match="ds must be a MapDataset or an IterDataset, got range"):
        device_put(range(3), device())
    with pytest.raises(ValueError, match="cpu_buffer_size"):
        device_put(pipeline(), device(), cpu_buffer_size=-1)


def images():
    # Large enough for shared memory, and for JAX to view instead of copy; more than workers may ever run ahead, so that
    # memory is used again however slow one of them is.
    ds = grain.MapDataset.range(2400).map(lambda x: np.full((256, 64), x, np.float32)).to_iter_dataset().batch(4)
    return ds.mp_prefetch(grain.MultiprocessingOptions(num_workers=2))


def is_image(array, number):
    first, *_, last = np.asarray(array).reshape(-1).tolist()
    return (first, last) == (4 * number, 4 * number + 3)


@pytest.mark.parametrize("convert", ["device_put", "asarray", "from_dlpack"])
def test_memory_of_workers_is_not_reused_while_jax_looks_at_it(convert):
    function = {"device_put": jax.device_put, "asarray": jax.numpy.asarray, "from_dlpack": jax.dlpack.from_dlpack}[
        convert
    ]
    kept, later = {}, []
    with iter(images()) as it:
        for number, batch in enumerate(it):
            if number % 50 == 0:
                kept[number] = function(batch)
            else:
                later.append(batch.ctypes.data)
            del batch
    assert len(set(later)) < len(later), "the workers use their memory again"
    assert all(is_image(array, number) for number, array in kept.items())


def test_memory_of_workers_is_not_reused_behind_device_put():
    kept = [(number, array) for number, array in enumerate(device_put(images(), device())) if number % 50 < 5]
    assert all(is_image(array, number) for number, array in kept)
