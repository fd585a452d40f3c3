"""How an optional package is asked for: imported when it is used, and missed by name."""

import importlib
from typing import Any


def require(module: str, purpose: str) -> Any:
    """Imports `module`, or says what to install for `purpose`."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{purpose} needs the package {package!r}: pip install {package}", name=module) from error
