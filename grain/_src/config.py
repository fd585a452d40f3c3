"""`grain.config`: options of the whole process, which need no flag library and no parsing."""

from typing import Any

_DEFAULTS: dict[str, Any] = {
    "py_debug_mode": False,
    "py_dataset_visualization_output_dir": None,
    "py_relay_sigterm_to_main": False,
    "py_traceback_filtering": "auto",
    # Options of the reference's TensorFlow loaders, which do not exist here: settings files may name them.
    "tf_interleaved_shuffle": False,
    "tf_interleaved_shuffle_block_size": 10,
    "tf_interleaved_shuffle_parallel_blocks": 10,
    "tf_lookup_batch_size": 100,
    "tf_lookup_fast_warmup": False,
    "tf_lookup_num_parallel_calls": -1,
    "tf_optimized_sequential_read": False,
    "tf_prefetch_buffer_size": -1,
}


class Config:
    """Options by name; `update` sets one.

    >>> options = Config()
    >>> options.update("py_debug_mode", True)
    >>> options.py_debug_mode
    True
    """

    def __init__(self) -> None:
        object.__setattr__(self, "_values", dict(_DEFAULTS))

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get("_values", {})
        if name not in values:
            raise AttributeError(_unknown(name))
        return values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        raise ValueError(f"options are set with `grain.config.update({name!r}, {value!r})`")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_DEFAULTS]

    def update(self, name: str, value: Any) -> None:
        """Sets the option `name`."""
        if name not in self.__dict__["_values"]:
            raise ValueError(_unknown(name))
        self.__dict__["_values"][name] = value

    def get_or_default(self, name: str) -> Any:
        """Returns the option `name`."""
        if name not in self.__dict__["_values"]:
            raise ValueError(_unknown(name))
        return self.__dict__["_values"][name]


def _unknown(name: str) -> str:
    return f"grain.config has no option {name!r}; it has {', '.join(_DEFAULTS)}"


config = Config()
