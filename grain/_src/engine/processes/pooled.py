"""The iterator of `mp_prefetch`: it owns the pool whose workers compute what is above."""

from typing import Any

from grain._src.engine.processes.pool import Pool
from grain._src.errors import StateError
from grain._src.nodes.stream import DatasetIterator, Run
from grain._src.nodes.worker_states import merge_worker_states


class PooledIterator(DatasetIterator[Any]):
    """Passes everything on, and ends the workers when it is closed or collected."""

    def __init__(self, parent: DatasetIterator[Any], pool: Pool) -> None:
        super().__init__(parent)
        self._pool = pool
        self._next = parent.__next__

    def __next__(self) -> Any:
        return self._next()

    def pull(self, count: int) -> list[Any]:
        return self._parent.pull(count)

    def pull_run(self, count: int) -> Run | None:
        return self._parent.pull_run(count)

    def pull_batch(self, count: int) -> tuple[int, Any] | None:
        return self._parent.pull_batch(count)

    def get_state(self) -> dict[str, Any]:
        return self._parent.get_state()

    def set_state(self, state: dict[str, Any]) -> None:
        try:
            self._parent.set_state(state)
        except StateError:
            merged = merge_worker_states(state)
            if merged is None:
                raise
            self._parent.set_state(merged)

    def __getattr__(self, name: str) -> Any:
        if name in ("record_position", "record_source"):  # where what is above has positions, so has this
            return getattr(self._parent, name)
        raise AttributeError(name)

    def close(self) -> None:
        super().close()
        self._pool.close()
