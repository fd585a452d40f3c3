"""Elements of several datasets side by side, with random access and as a stream."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from grain._src.errors import StateError
from grain._src.frozen import frozen
from grain._src.indexing.permutation import IndexArray
from grain._src.nodes.base import MapNode, Node
from grain._src.nodes.stream import DatasetIterator, StreamNode, field, set_states


@frozen
class Zip(MapNode):
    """Tuples of the parents' elements at the same index; the parents are equally long."""

    name = "zip"
    components: tuple[MapNode, ...]

    @property
    def parents(self) -> tuple[Node, ...]:
        return self.components

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        return ()

    def describe(self) -> str:
        return f"zip({len(self.components)} datasets)"

    @property
    def length(self) -> int:
        return self.components[0].length

    @property
    def width(self) -> int:
        return sum(component.width for component in self.components)

    def get(self, index: int) -> Any:
        return tuple([component.get(index) for component in self.components])

    def stream(self, indices: IndexArray) -> Iterator[Any]:
        return zip(*[component.stream(indices) for component in self.components], strict=True)

    def inputs(self, index: int) -> list[tuple[MapNode, int]]:
        return [(component, index) for component in self.components]

    @property
    def dense(self) -> bool:
        return True  # a hole in a parent is a None in the tuple

    @property
    def sparse(self) -> bool:
        return False


@frozen
class StreamZip(StreamNode):
    """Tuples of the parents' next elements, until the first parent ends."""

    name = "zip"
    components: tuple[Node, ...]
    strict: bool = True

    @property
    def parents(self) -> tuple[Node, ...]:
        return self.components

    def describe(self) -> str:
        return f"zip({len(self.components)} datasets{'' if self.strict else ', strict=False'})"

    def build(self, parents: Sequence[DatasetIterator[Any]]) -> DatasetIterator[Any]:
        return ZipIterator(self, parents)


class ZipIterator(DatasetIterator[Any]):
    """Its state: those of the parents."""

    def __init__(self, node: StreamZip, parents: Sequence[DatasetIterator[Any]]) -> None:
        super().__init__(parents)
        self._strict = node.strict
        self._stopped = False

    def __next__(self) -> Any:
        if self._stopped:
            raise StopIteration
        before = [parent.get_state() for parent in self._parents]
        elements: list[Any] = []
        try:
            for parent in self._parents:
                elements.append(next(parent))
            return tuple(elements)
        except StopIteration:
            self._stopped = True
            if self._strict:
                self._check_ends(len(elements))
            raise
        except BaseException:
            # The parents before the one that failed are one element ahead: all of them try this element again.
            set_states(self._parents, before)
            raise

    def _check_ends(self, ended: int) -> None:
        """Raises if not all parents end where number `ended` has ended."""
        longer = (
            next((i for i, parent in enumerate(self._parents[1:], 2) if parent.pull(1)), None) if not ended else None
        )
        if ended or longer is not None:
            found = f"{ended + 1} is shorter" if ended else f"{longer} is longer"
            raise ValueError(
                f"ZipIterDataset argument {found} than argument 1. Pass `strict=False` to stop at the end of the shortest."
            )

    def get_state(self) -> dict[str, Any]:
        return {"parents": [parent.get_state() for parent in self._parents]}

    def set_state(self, state: dict[str, Any]) -> None:
        states = field(state, "parents", list)
        if len(states) != len(self._parents):
            raise StateError(f"the state is of {len(states)} zipped datasets, this iterator has {len(self._parents)}")
        set_states(self._parents, states)
        self._stopped = False
