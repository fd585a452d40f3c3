"""How many elements go to a worker at once: blocks grow while they are quickly computed and small."""

from grain._src.engine.processes.task import Reply, Task

_SECONDS = 16e-3
_BYTES = 4 << 20
_MOST_SECONDS = 0.5  # and
_MOST_BYTES = 32 << 20  # of a block that several threads read, because reading waits


class BlockSize:
    """The size of the next block, one at first, at most `most`; `unit` is how many records make one."""

    def __init__(self, most: int, unit: int = 1) -> None:
        self._most = most
        self._unit = unit
        self.size = 1
        self.nbytes = 0  # of the last blocks, the largest about

    def restart(self) -> None:
        """Begins with one again: who jumps wants one element soon."""
        self.size = 1

    def learn(self, task: Task, reply: Reply) -> None:
        """Takes note of what a block took."""
        self.nbytes //= 2
        if self.nbytes < reply.nbytes:
            self.nbytes = reply.nbytes
        if reply.seconds < _SECONDS / 2 and reply.nbytes < _BYTES / 2:
            self.size = min(self._most, max(self.size, 2 * task.size))
        elif self.size > 1 and (reply.seconds > 2 * _SECONDS or reply.nbytes > 2 * _BYTES):
            self.size = max(1, min(self.size, task.size // 2))
        if reply.records > 1 and reply.seconds > _SECONDS / 8:  # the worker waits, and has threads for so many
            affordable = task.size * min(_MOST_BYTES / max(1, reply.nbytes), _MOST_SECONDS / reply.seconds)
            self.size = max(self.size, min(self._most, -(-reply.records // self._unit), int(affordable)))
