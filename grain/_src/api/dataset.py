"""What both kinds of dataset share: a node behind the handle, parents, printing, `pipe`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from grain._src import arguments
from grain._src.engine.places import places
from grain._src.nodes.base import Node

T = TypeVar("T", covariant=True)
R = TypeVar("R")
D = TypeVar("D", bound="Dataset[Any]")

_COLUMN = 60  # where the places of long steps begin


class Dataset(Generic[T]):
    """A lazily evaluated pipeline; every method returns a new one."""

    _parents: "tuple[Dataset[Any], ...]" = ()
    _own_node: Node | None = None
    _elsewhere: ClassVar[Mapping[str, str]] = {}  # what the other kind of dataset has, and what to do instead

    def __init__(self, parents: "Dataset[Any] | Sequence[Dataset[Any]]" = ()) -> None:
        given = (
            (parents,) if isinstance(parents, Dataset) else tuple(arguments.sequence("parents", parents, "datasets"))
        )
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
        return arguments.function("func", func)(self, *args, **kwargs)  # type: ignore[no-any-return]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name not in type(self)._elsewhere:
                return object.__getattribute__(self, name)  # raises what was raised, also by a user's property
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}: {self._elsewhere[name]}")

    def __repr__(self) -> str:
        return "\n".join(draw(self._node))

    def __str__(self) -> str:
        return show(self._node)


def checked_dataset(name: str, value: Any, kind: type[D]) -> D:
    """Returns `value` if it is a dataset of `kind`, which may be `Dataset` for both."""
    if not isinstance(value, kind):
        wanted = f"a {kind.__name__}" if kind is not Dataset else "a MapDataset or an IterDataset"
        raise TypeError(f"{name} must be {wanted}, got {type(value).__name__}")
    return value


def show(node: Node) -> str:
    """Returns the pipeline as text, with who computes each step when it is iterated.

    >>> import grain
    >>> ds = grain.MapDataset.range(8).shuffle(seed=1).to_iter_dataset().filter(bool).batch(2)
    >>> print(ds.mp_prefetch(grain.MultiprocessingOptions(num_workers=2)))
    range(0, 8, 1)           2 worker processes
    shuffle(seed=1)          2 worker processes
    to_iter_dataset()        2 worker processes
    filter(function=bool)    2 worker processes
    batch(batch_size=2)      this thread, in order
    mp_prefetch(num_workers=2)
    """
    where = places(node)
    lines = [(text, where.get(id(step), "")) for text, step in _draw(node)]
    width = min(_COLUMN, max((len(text) for text, place in lines if place), default=0))
    return "\n".join(f"{text:<{width}}    {place}" if place else text for text, place in lines)


def draw(node: Node) -> list[str]:
    """Returns the pipeline as text: a step a line from the source down, branches indented."""
    return [text for text, _ in _draw(node)]


def _draw(node: Node) -> list[tuple[str, Node]]:
    lines: list[tuple[str, Node]] = []
    if len(node.parents) == 1:
        lines = _draw(node.parents[0])
    for parent in node.parents if len(node.parents) > 1 else ():
        (first, step), *rest = _draw(parent)
        lines += [(f"┌ {first}", step), *((f"│ {text}", step) for text, step in rest)]
    return [*lines, (node.describe(), node)]
