"""How an optional package is asked for: imported when it is used, and missed by name."""

import importlib
from typing import Any


def require(module: str, extra: str, purpose: str) -> Any:
    """Imports `module`, or says what to install for `purpose`."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{purpose} needs the package {module.partition('.')[0]!r}: pip install 'grain[{extra}]'", name=module
        ) from error
