"""The names that need Orbax, loaded when they are used: importing it takes longer than all of this library."""

import importlib
from typing import Any

ORBAX_NAMES = {
    "CheckpointHandler": "CheckpointHandler",
    "CheckpointRestore": "CheckpointRestore",
    "CheckpointSave": "CheckpointSave",
    "OrbaxCheckpointHandler": "CheckpointHandler",
}


def orbax_name(name: str, module: str) -> Any:
    """Returns what `name` stands for; for the `__getattr__` of the public `module`."""
    if name not in ORBAX_NAMES:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return getattr(importlib.import_module("grain._src.checkpoint.orbax"), ORBAX_NAMES[name])
