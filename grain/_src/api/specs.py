"""What the elements of a dataset look like."""

from typing import Any

from grain._src import arguments
from grain._src.api.dataset import Dataset, checked_dataset
from grain._src.api.iter_dataset import IterDataset
from grain._src.api.map_dataset import MapDataset
from grain._src.nodes.element_spec import element_spec, spec_of_value


def get_element_spec(ds: MapDataset[Any] | IterDataset[Any], *, infer: bool = False) -> Any:
    """Returns the shapes and dtypes of the elements of `ds` without computing one.

    >>> import grain
    >>> get_element_spec(grain.MapDataset.range(9).batch(4, drop_remainder=True)).shape
    (4,)

    Transformation classes say what they give with a method `output_spec(self, input_spec)`.

    Args:
      ds: the dataset.
      infer: where a source or a transformation does not say, look at the first element instead.
    """
    checked_dataset("ds", ds, Dataset)
    infer = arguments.flag("infer", infer)
    try:
        return element_spec(ds._node)
    except (NotImplementedError, ValueError) as error:
        if not infer:
            error.add_note("Pass `infer=True` to look at the first element instead.")
            raise
    with iter(ds) as iterator:
        for element in iterator:
            return spec_of_value(element)
    raise ValueError("an empty dataset has no element to look at")
