"""What both kinds of dataset share: a node behind the handle, parents, printing, `pipe`."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, Self, TypeVar

from grain._src.nodes.base import Node

T = TypeVar("T", covariant=True)
R = TypeVar("R")


class Dataset(Generic[T]):
    """A lazily evaluated pipeline; every method returns a new one."""

    _parents: "tuple[Dataset[Any], ...]" = ()
    _own_node: Node | None = None

    def __init__(self, parents: "Dataset[Any] | Sequence[Dataset[Any]]" = ()) -> None:
        given = (parents,) if isinstance(parents, Dataset) else tuple(parents)
        for parent in given:
            if not isinstance(parent, Dataset):
                raise TypeError(f"parents must be datasets, got {type(parent).__name__}")
        self._parents = given

    @classmethod
    def _of(cls, node: Node, parents: "Iterable[Dataset[Any]]" = ()) -> Self:
        """Returns a handle of `node`."""
        handle = cls.__new__(cls)
        handle._parents = tuple(parents)
        handle._own_node = node
        return handle

    @property
    def parents(self) -> "Sequence[Dataset[Any]]":
        """The datasets that this one transforms."""
        return self._parents

    @property
    def _parent(self) -> "Any":
        if len(self._parents) != 1:
            raise ValueError(f"{type(self).__name__} has {len(self._parents)} parents, not one")
        return self._parents[0]

    @property
    def _node(self) -> Node:
        """What this dataset is; a user's own class stands for itself."""
        if self._own_node is None:
            self._own_node = self._wrap(tuple(parent._node for parent in self._parents))
        return self._own_node

    def _wrap(self, above: tuple[Node, ...]) -> Node:
        raise NotImplementedError

    def pipe(self, func: Callable[..., R], /, *args: Any, **kwargs: Any) -> R:
        """Returns `func(self, *args, **kwargs)`, so that functions of datasets chain like methods.

        >>> import grain
        >>> list(grain.MapDataset.range(3).pipe(lambda ds, k: ds.map(lambda x: x * k), k=10))
        [0, 10, 20]
        """
        return func(self, *args, **kwargs)

    def __repr__(self) -> str:
        return "\n".join(draw(self._node))


def draw(node: Node) -> list[str]:
    """Returns the pipeline as text: a step a line from the source down, branches indented."""
    lines: list[str] = []
    if len(node.parents) == 1:
        lines = draw(node.parents[0])
    for parent in node.parents if len(node.parents) > 1 else ():
        branch = draw(parent)
        lines += [f"┌ {branch[0]}", *(f"│ {line}" for line in branch[1:])]
    return [*lines, node.describe()]
