"""A block for a worker to compute, and its answer."""

from typing import TYPE_CHECKING, Any, NamedTuple

from grain._src.engine import processes
from grain._src.errors import WorkerDied
from grain._src.transport.lease import Leases

if TYPE_CHECKING:
    from grain._src.columns import Packed


_MAX_DEATHS, _MAX_KILLS = 2, 4


class Task:
    """A block to compute.

    Args:
      stage: the number of what computes it.
      request: what to compute, in the terms of the stage.
      body: data that goes with the request.
      size: how many outputs or inputs it is about.
      worker: the only worker that will do, or None.
    """

    __slots__ = ("body", "cancelled", "deaths", "number", "reply", "request", "size", "stage", "worker")

    def __init__(
        self,
        stage: int,
        request: tuple[Any, ...],
        size: int,
        body: bytes | memoryview = b"",
        worker: int | None = None,
    ) -> None:
        self.worker = worker
        self.stage = stage
        self.request = request
        self.size = size
        self.body = body
        self.number = -1
        self.deaths = 0
        self.cancelled = False
        self.reply: Reply | None = None

    def rest_from(self, state: dict[str, Any]) -> "Task":
        """Returns what is left of it when a worker has got as far as `state`."""
        rest = Task(self.stage, (state, *self.request[1:]), self.size, self.body, self.worker)
        rest.number, rest.cancelled = self.number, self.cancelled
        rest.deaths = min(1, self.deaths)
        return rest

    def is_hopeless(self, killed: bool) -> bool:
        """Whether too many workers have died of it; where one was killed, somebody else may have done it, and before, too."""
        return self.deaths >= (_MAX_KILLS if killed else _MAX_DEATHS)

    def fail(self, how: str) -> None:
        """Gives up: no worker survives it. `how` says how the last one ended."""
        times = "twice" if self.deaths == 2 else f"the {self.deaths}th time"
        self.reply = Reply(WorkerDied(f"a worker process {how} {times} while it computed the same elements"))


class Reply(NamedTuple):
    """What a worker answered: the DONE message, its body, and whose memory the elements are in.

    If it is not all of the block, the worker goes on with the `rest`.
    """

    error: BaseException | None = None
    head: Any = None
    body: bytes | memoryview = b""
    leases: Leases | None = None
    marks: Any = None
    state: dict[str, Any] | None = None
    holes: bool = False
    seconds: float = 0.0
    nbytes: int = 0
    records: int = 1
    rest: Task | None = None

    def elements(self) -> list[Any]:
        """What the block gave, decoded; to be called once."""
        elements: list[Any] = processes.decode(self.head, self.body, self.leases) if self.head is not None else []
        return elements

    def elements_or_columns(self) -> "list[Any] | Packed":
        """The same, but elements that came by columns are left so."""
        found: list[Any] | Packed = []
        if self.head is not None:
            found = processes.decode_packed(self.head, self.body, self.leases)
        return found
