"""Batches of packed rows, written as batches."""

import abc
from typing import Any

from grain._src.nodes.packing_rows import joined
from grain._src.nodes.stream import DatasetIterator, is_interrupt


class PackedRowsIterator(DatasetIterator[Any]):
    """Gives packed rows; several in a row can be had as one batch, in less time than it takes to stack them."""

    _batched = True  # whether rows are arrays and nothing else
    _written: list[dict[str, Any]]  # rows that are still to be handed out one by one

    def pull_batch(self, count: int) -> tuple[int, Any] | None:
        if self._closed or self._written or not self._batched:
            return None
        before = self.get_state()
        try:
            return self._write_batch(count)
        except BaseException as error:
            if is_interrupt(error):
                self.set_state(before)
            raise

    def _write_batch(self, count: int) -> tuple[int, Any]:
        taken = 0
        parts: list[dict[str, Any]] = []
        while taken < count:
            try:
                rows, part = self._write_part(count - taken)
            except StopIteration:
                break
            taken += rows
            parts.append(part)
        return taken, joined(parts) if parts else None

    @abc.abstractmethod
    def _write_part(self, most: int) -> tuple[int, dict[str, Any]]:
        """Hands out some of the next rows, up to `most`, as a batch, and says how many; StopIteration at the end."""
