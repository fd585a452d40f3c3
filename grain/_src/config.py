"""Settings by name, for code that sets them; pipelines here take their options as arguments."""

from typing import Any

_DEFAULTS: dict[str, Any] = {
    "py_debug_mode": False,
    "py_dataset_visualization_output_dir": None,
    "py_traceback_filtering": "auto",
}


class Config:
    """Holds the reference's settings. None of them changes what a pipeline gives.

    >>> config.update("py_debug_mode", True)
    >>> config.py_debug_mode
    True
    >>> config.update("py_debug_mode", False)
    """

    def __init__(self) -> None:
        self._values = dict(_DEFAULTS)

    def _check(self, name: str) -> None:
        if name not in _DEFAULTS:
            raise ValueError(f"there is no setting {name!r}; there are {', '.join(sorted(_DEFAULTS))}")

    def update(self, name: str, value: Any) -> None:
        """Sets a setting."""
        self._check(name)
        self._values[name] = value

    def get_or_default(self, name: str) -> Any:
        """Returns a setting, its default if it was not set."""
        self._check(name)
        return self._values[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.get_or_default(name)


config = Config()
