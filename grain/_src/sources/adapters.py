"""Datasets of other libraries as sources: whatever has a length and elements, torch, Hugging Face, TFDS."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from grain._src.arguments import names
from grain._src.nodes.source import checked_block
from grain._src.sources.base import DataSource, IndexArray


class SequenceDataSource(DataSource[Any]):
    """Anything with `__len__` and `__getitem__`, read in blocks by its own `__getitems__` where it has one.

    >>> SequenceDataSource("abc").__getitems__([2, 0])
    ['c', 'a']
    """

    def __init__(self, sequence: Any) -> None:
        for method in ("__len__", "__getitem__"):
            if not hasattr(sequence, method):
                raise TypeError(f"a dataset with random access is needed, {type(sequence).__name__} has no {method}")
        self._sequence = sequence

    def __len__(self) -> int:
        return len(self._sequence)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({type(self._sequence).__name__}, len={len(self)})"

    def _read_one(self, key: int) -> Any:
        return self._sequence[key]

    def _read(self, keys: IndexArray) -> list[Any]:
        batched: Callable[[list[int]], Sequence[Any]] | None = getattr(self._sequence, "__getitems__", None)
        if batched is None:
            return list(map(self._sequence.__getitem__, keys.tolist()))
        return list(checked_block(batched(keys.tolist()), len(keys), self._sequence))


class TorchDataSource(SequenceDataSource):
    """A map-style torch dataset; tensors in its elements become NumPy arrays."""

    def _read_one(self, key: int) -> Any:
        return _to_numpy(super()._read_one(key))

    def _read(self, keys: IndexArray) -> list[Any]:
        return list(map(_to_numpy, super()._read(keys)))


def _to_numpy(element: Any) -> Any:
    torch = sys.modules.get("torch")
    if torch is None:
        return element  # No tensor can exist in a process that has not imported torch.
    if isinstance(element, torch.Tensor):
        return element.detach().cpu().numpy()
    if isinstance(element, dict):
        return {name: _to_numpy(value) for name, value in element.items()}
    if isinstance(element, tuple) and hasattr(element, "_fields"):
        return type(element)(*map(_to_numpy, element))
    if isinstance(element, (list, tuple)):
        return type(element)(map(_to_numpy, element))
    return element


class HuggingFaceDataSource(SequenceDataSource):
    """A Hugging Face `datasets.Dataset`: one dict a row, a block of rows in one Arrow read.

    Args:
      dataset: one split; its format (`dataset.with_format("numpy")`) decides what the values are.
      columns: which columns to read; all by default.
    """

    def __init__(self, dataset: Any, *, columns: Sequence[str] | None = None) -> None:
        if isinstance(dataset, dict):
            raise TypeError(f"choose a split, such as dataset[{next(iter(dataset), 'train')!r}]: got {sorted(dataset)}")
        super().__init__(dataset if columns is None else dataset.select_columns(names("columns", columns)))

    def __repr__(self) -> str:
        return f"HuggingFaceDataSource(columns={list(self._sequence.column_names)}, len={len(self)})"


class TfdsDataSource(SequenceDataSource):
    """What `tfds.data_source(…)` and `builder.as_data_source(…)` return for one split."""

    def __init__(self, source: Any) -> None:
        if isinstance(source, dict):
            raise TypeError(f"choose a split, such as sources[{next(iter(source), 'train')!r}]: got {sorted(source)}")
        super().__init__(source)

    def __repr__(self) -> str:
        info = getattr(self._sequence, "dataset_info", None)
        split = getattr(self._sequence, "split", None)
        name = getattr(info, "full_name", type(self._sequence).__name__)
        return f"TfdsDataSource({name}, split={split}, len={len(self)})"
