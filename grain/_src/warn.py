"""Warnings that point at the user's own line, however deep in this library they come from."""

import os
import sys
import warnings

_HERE = os.path.dirname(os.path.dirname(__file__)) + os.sep


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warns with the place where the user's program called this library; with this one's, in a thread of our own."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
