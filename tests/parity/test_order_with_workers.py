"""The order that the reference gives with several workers, for runs that were started there."""

import pytest

import grain

# Recorded from the reference, release 0.2.18, with `mp_prefetch(MultiprocessingOptions(n))` at the end of the pipeline.
RECORDED = {
    2: [[13, 10], [7, 8], [1, 14], [20, 23], [2, 4], [5, 11], [16, 22], [17, 19]],
    3: [[13, 23], [7, 20], [8, 10], [14, 4], [1, 11], [5, 16], [2, 17], [19], [22]],
}


def pipeline(ds):
    return ds.to_iter_dataset().filter(lambda x: x % 3).batch(2)


@pytest.mark.parametrize("count", RECORDED)
def test_interleaved_slices_give_the_reference_order_with_any_number_of_our_workers(count):
    source = grain.MapDataset.range(25).shuffle(seed=1)
    slices = [pipeline(source[i::count]) for i in range(count)]
    ds = grain.experimental.InterleaveIterDataset(slices, cycle_length=count)
    assert [batch.tolist() for batch in ds] == RECORDED[count]
    spread = ds.mp_prefetch(grain.MultiprocessingOptions(2))
    assert [batch.tolist() for batch in spread] == RECORDED[count]
