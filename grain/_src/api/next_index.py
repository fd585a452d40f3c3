"""Where an iterator is, as one number."""

from typing import Any

from grain._src import arguments
from grain._src.errors import PositionError
from grain._src.nodes.base import Node
from grain._src.nodes.next_index import index_in, state_at
from grain._src.nodes.stream import DatasetIterator


def get_next_index(ds_iter: DatasetIterator[Any]) -> int:
    """Returns the number of the element that `next` would give.

    >>> import grain
    >>> it = iter(grain.MapDataset.range(10).batch(2).to_iter_dataset())
    >>> _ = next(it)
    >>> get_next_index(it)
    1
    """
    return index_in(_node_of(ds_iter), ds_iter.get_state())


def set_next_index(ds_iter: DatasetIterator[Any], index: int) -> None:
    """Makes `next` give element number `index`; takes no longer for a large one.

    >>> import grain
    >>> it = iter(grain.MapDataset.range(10).to_iter_dataset().map(lambda x: x * x))
    >>> set_next_index(it, 9)
    >>> next(it)
    81
    """
    ds_iter.set_state(state_at(_node_of(ds_iter), arguments.integer("index", index)))


def _node_of(ds_iter: Any) -> Node:
    if not isinstance(ds_iter, DatasetIterator):
        raise TypeError(f"ds_iter must be a grain.DatasetIterator, got {ds_iter!r}")
    node = ds_iter._pipeline
    if node is None:
        raise PositionError(
            f"the number of the next element is not known for {type(ds_iter).__name__}: use get_state() and set_state()"
        )
    return node
