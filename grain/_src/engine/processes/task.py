"""A block for a worker to compute, and its answer."""

from typing import Any

from grain._src.transport.lease import Leases


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


class Reply:
    """What a worker answered: the DONE message, its body, and whose memory the elements are in."""

    __slots__ = ("body", "error", "head", "holes", "leases", "marks", "nbytes", "seconds", "state")

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.head: Any = None
        self.body: Any = b""
        self.leases: Leases | None = None
        self.marks: Any = None
        self.state: dict[str, Any] | None = None
        self.holes = False
        self.seconds = 0.0
        self.nbytes = 0
