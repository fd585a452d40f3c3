"""The older import path: `import grain.python as grain` gives every name of `grain`, and the older ones."""

import importlib
from typing import TYPE_CHECKING, Any

import grain as _grain

if TYPE_CHECKING:
    from grain import *  # noqa: F403
    from grain._src.api.loader import DataLoaderIterator as PyGrainDatasetIterator
    from grain._src.operations import BatchOperation, FilterOperation, MapOperation, Operation, RandomMapOperation
    from grain.checkpoint import CheckpointHandler as PyGrainCheckpointHandler
    from grain.checkpoint import CheckpointRestore as PyGrainCheckpointRestore
    from grain.checkpoint import CheckpointSave as PyGrainCheckpointSave
    from grain.constants import DATASET_INDEX, EPOCH, INDEX, META_FEATURES, RECORD, RECORD_KEY, SEED
    from grain.multiprocessing import SharedMemoryArray
    from grain.transforms import DatasetSelectionMap, Transformations

# The names that `grain` does not have, loaded when first asked for: name → module [: attribute].
_OLDER = {
    "BatchOperation": "grain._src.operations",
    "DATASET_INDEX": "grain.constants",
    "DatasetSelectionMap": "grain.transforms",
    "EPOCH": "grain.constants",
    "FilterOperation": "grain._src.operations",
    "INDEX": "grain.constants",
    "META_FEATURES": "grain.constants",
    "MapOperation": "grain._src.operations",
    "Operation": "grain._src.operations",
    "PyGrainCheckpointHandler": "grain.checkpoint:CheckpointHandler",
    "PyGrainCheckpointRestore": "grain.checkpoint:CheckpointRestore",
    "PyGrainCheckpointSave": "grain.checkpoint:CheckpointSave",
    "PyGrainDatasetIterator": "grain._src.api.loader:DataLoaderIterator",
    "RECORD": "grain.constants",
    "RECORD_KEY": "grain.constants",
    "RandomMapOperation": "grain._src.operations",
    "SEED": "grain.constants",
    "SharedMemoryArray": "grain.multiprocessing",
    "Transformations": "grain.transforms",
}


def __getattr__(name: str) -> Any:
    if name == "experimental":
        return importlib.import_module("grain.python.experimental")
    if name in _OLDER:
        module, _, attribute = _OLDER[name].partition(":")
        return getattr(importlib.import_module(module), attribute or name)
    if name in _grain.__all__:
        return getattr(_grain, name)
    raise AttributeError(f"module 'grain.python' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*_grain.__all__, *_OLDER})


__all__ = [  # noqa: PLE0604
    *_grain.__all__,
    "DATASET_INDEX",
    "EPOCH",
    "INDEX",
    "META_FEATURES",
    "RECORD",
    "RECORD_KEY",
    "SEED",
    "BatchOperation",
    "DatasetSelectionMap",
    "FilterOperation",
    "MapOperation",
    "Operation",
    "PyGrainCheckpointHandler",
    "PyGrainCheckpointRestore",
    "PyGrainCheckpointSave",
    "PyGrainDatasetIterator",
    "RandomMapOperation",
    "SharedMemoryArray",
    "Transformations",
]
