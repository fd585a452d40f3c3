"""What a source is to the rest of the library: a length and an element for every index."""

from typing import Protocol, SupportsIndex, TypeVar, runtime_checkable

T = TypeVar("T", covariant=True)


@runtime_checkable
class RandomAccessDataSource(Protocol[T]):
    """Anything with a length and an element for every index from 0 to that length.

    A source may also have `__getitems__(indices)`, which returns the elements at several indices as a list: pipelines
    read whole blocks through it. Its `repr` should be the same in every process, for checkpoints name it.

    >>> isinstance([1, 2, 3], RandomAccessDataSource)
    True
    """

    def __len__(self) -> int:
        """Returns the number of elements."""
        ...

    def __getitem__(self, index: SupportsIndex, /) -> T:
        """Returns the element at `index`."""
        ...
