"""What JAX knows about the processes of a run: who this is, and what they agree on."""

import importlib

from grain._src.sources.optional import require


def process_index_and_count() -> tuple[int, int]:
    """Returns the number of this JAX process and how many there are."""
    jax = require("jax", "ShardByJaxProcess")
    return int(jax.process_index()), int(jax.process_count())


def agree_on_minimum(value: int) -> int:
    """Returns the least `value` of all JAX processes; every process must call it, and waits for the others."""
    jax = require("jax", "end_together")
    if jax.process_count() == 1:
        return value
    numpy = importlib.import_module("numpy")
    multihost = require("jax.experimental.multihost_utils", "end_together")
    return int(numpy.min(multihost.process_allgather(numpy.int32(value))))
