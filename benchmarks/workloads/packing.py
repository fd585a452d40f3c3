"""Packing documents of 5 to 200 tokens into rows of 512."""

from collections.abc import Iterator
from typing import Any

from benchmarks.data import token_lists
from benchmarks.metrics import ROWS as PACKED_ROWS
from benchmarks.workload import Row
from benchmarks.workloads.text import WIDTH, packed

ROWS = (
    Row("first fit", PACKED_ROWS, {"method": "FirstFitPackIterDataset", "num_packing_bins": 64}),
    Row("best fit", PACKED_ROWS, {"method": "BestFitPackIterDataset", "num_packing_bins": 64}),
    Row("concat, then split", PACKED_ROWS, {"method": "ConcatThenSplitIterDataset"}),
)


def with_grain(grain: Any, run: Any, method: str, **arguments: Any) -> Any:
    pack = getattr(grain.experimental, method)
    return pack(run(grain.MapDataset.source(token_lists())), length_struct={"tokens": WIDTH}, **arguments)


def bare(method: str, **arguments: Any) -> Iterator[Any]:
    """First fit as a user writes it by hand."""
    del method, arguments
    return packed(iter(token_lists()))
