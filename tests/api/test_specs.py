"""What elements look like."""

import numpy as np
import pytest

import grain
from grain import experimental as ex
from grain.experimental import ShapeDtypeStruct as Spec

M = grain.MapDataset
INT = Spec((), np.int64)


class Embed(grain.transforms.Map):
    def map(self, element):
        raise AssertionError("nothing is computed")

    def output_spec(self, input_spec):
        assert input_spec == INT
        return {"x": Spec((None, 3), np.float32)}


def stream():
    return M.range(6).to_iter_dataset()


def documents():
    return M.range(6).map(Embed()).to_iter_dataset()


@pytest.mark.parametrize(
    ("ds", "spec"),
    [
        (M.range(6), INT),
        (M.range(6).shuffle(seed=1)[1:].repeat(2).filter(lambda x: x > 1), INT),
        (M.mix([M.range(3), M.range(4)]), INT),
        (M.concatenate([M.range(3), M.range(4)]), INT),
        (M.range(6).batch(2), Spec((None,), np.int64)),
        (M.range(6).batch(2, drop_remainder=True).batch(3, drop_remainder=True), Spec((3, 2), np.int64)),
        (stream().filter(lambda x: True).seed(1), INT),
        (stream().map(Embed()).batch(2, drop_remainder=True), {"x": Spec((2, None, 3), np.float32)}),
        (grain.IterDataset.mix([stream(), stream()]), INT),
        (ex.ZipMapDataset([M.range(3), M.range(3)]), (INT, INT)),
        (ex.ZipIterDataset([stream(), stream().map(Embed())]), (INT, {"x": Spec((None, 3), np.float32)})),
        (ex.RebatchIterDataset(stream().batch(2), 3), Spec((3,), np.int64)),
        (ex.InterleaveIterDataset([stream(), stream()], cycle_length=2), INT),
        (ex.LimitIterDataset(ex.RepeatIterDataset(ex.CacheIterDataset(stream()), 2), 3), INT),
        (ex.WindowShuffleIterDataset(stream(), window_size=2, seed=1), INT),
        (ex.WindowShuffleMapDataset(M.range(6), window_size=2, seed=1), INT),
        (stream().mp_prefetch(grain.MultiprocessingOptions(num_workers=1)), INT),
    ],
    ids=range(17),
)
def test_shapes_and_dtypes_are_known_without_computing(ds, spec):
    assert ex.get_element_spec(ds) == spec


@pytest.mark.parametrize("packer", [ex.FirstFitPackIterDataset, ex.ConcatThenSplitIterDataset])
def test_packed_rows_have_the_shape_of_their_features(packer):
    options = {"num_packing_bins": 2} if packer is ex.FirstFitPackIterDataset else {}
    assert ex.get_element_spec(packer(documents(), length_struct={"x": 8}, **options)) == {
        "x": Spec((8, 3), np.float32),
        "x_segment_ids": Spec((8,), np.int32),
        "x_positions": Spec((8,), np.int32),
    }


@pytest.mark.parametrize(
    ("ds", "error"),
    [
        (M.source([np.zeros(3)]), NotImplementedError),
        (M.range(3).map(lambda x: x), ValueError),
        (stream().map(lambda x: x), ValueError),
        (M.range(3).batch(2, batch_fn=list), NotImplementedError),
    ],
)
def test_what_is_not_known_is_an_error_or_looked_at_on_demand(ds, error):
    with pytest.raises(error):
        ex.get_element_spec(ds)
    assert ex.get_element_spec(ds, infer=True) is not None


def test_looking_at_an_element_gives_its_shapes():
    ds = M.source([{"image": np.zeros((4, 4), np.uint8), "label": 3}]).repeat().to_iter_dataset().batch(5)
    spec = ex.get_element_spec(ds, infer=True)
    assert spec == {"image": Spec((5, 4, 4), np.dtype(np.uint8)), "label": Spec((5,), np.dtype(np.int64))}
    with pytest.raises(ValueError, match="empty dataset"):
        ex.get_element_spec(M.source([]), infer=True)


def test_a_class_of_ones_own_says_what_it_gives():
    class Mine(grain.MapDataset):
        _element_spec = Spec((2,), np.int8)

        def __len__(self):
            return 1

        def __getitem__(self, index):
            return np.zeros(2, np.int8)

    assert ex.get_element_spec(Mine()) == Spec((2,), np.int8)


def test_anything_with_a_shape_and_a_dtype_is_a_spec():
    assert isinstance(np.zeros(3), ex.ShapeDtypeStructProtocol)
    assert isinstance(Spec((1,), np.int8), ex.ShapeDtypeStructProtocol)
    assert not isinstance(3, ex.ShapeDtypeStructProtocol)
