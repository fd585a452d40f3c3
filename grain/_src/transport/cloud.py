"""The pickler of functions and local classes; it is loaded where plain pickle does not do."""

from collections.abc import Callable
from typing import Any

import cloudpickle

from grain._src.transport.arrays import PROTOCOL


class CloudPickler(cloudpickle.Pickler):  # type: ignore[misc]
    """A pickler of functions and local classes too, with reducers of its own."""

    def __init__(self, file: Any, table: dict[type, Callable[[Any], Any]], buffer_callback: Callable[..., Any]) -> None:
        # The table is read once, while the base class is set up.
        self.dispatch_table = {**cloudpickle.Pickler.dispatch_table, **table}
        super().__init__(file, PROTOCOL, buffer_callback)
