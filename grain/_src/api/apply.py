"""Applies transformation objects to a dataset of either kind."""

from collections.abc import Sequence
from typing import Any, TypeVar

from grain._src import transforms

D = TypeVar("D")


def apply_transformations(ds: D, transformations: Any) -> D:
    """Returns `ds` with one or several transformations applied, in order.

    >>> import grain
    >>> list(apply_transformations(grain.MapDataset.range(4), grain.transforms.Batch(2))[1])
    [np.int64(2), np.int64(3)]
    """
    if not isinstance(transformations, Sequence):
        transformations = (transformations,)
    for transformation in transformations:
        ds = _apply(ds, transformation)
    return ds


def _apply(ds: Any, transformation: Any) -> Any:
    match transformation:
        case transforms.Batch():
            return ds.batch(
                transformation.batch_size,
                drop_remainder=transformation.drop_remainder,
                batch_fn=transformation.batch_fn,
            )
        case transforms.Map():
            return ds.map(transformation)
        case transforms.RandomMap() | transforms.TfRandomMap():
            return ds.random_map(transformation)
        case transforms.MapWithIndex():
            return ds.map_with_index(transformation)
        case transforms.Filter():
            return ds.filter(transformation)
        case transforms.FlatMap():
            return ds._flat_map(transformation)
    raise NotImplementedError(
        f"cannot apply {type(transformation).__name__}: a transformation is a grain.transforms.Map, RandomMap, "
        "MapWithIndex, Filter, FlatMap or Batch. Pass a plain function to `ds.map`, `ds.filter`, …"
    )
