"""Says what runs where: for each step of a pipeline, who computes it when the pipeline is iterated."""

from collections.abc import Iterator

from grain._src.engine import run
from grain._src.engine.plan import remote_of, spreads_of, stage_of
from grain._src.nodes import steps
from grain._src.nodes.base import MapNode, Node
from grain._src.nodes.prefetch import ProcessPrefetch, ThreadPrefetch
from grain._src.nodes.to_iter import ToIter, WithOptions
from grain._src.options import ReadOptions

Places = dict[int, str]
_AHEAD = "a thread, ahead"


def places(node: Node) -> Places:
    """Returns who computes each node, by the node's `id`; marks such as `mp_prefetch` compute nothing."""
    return _places(ToIter(node) if isinstance(node, MapNode) else node, 0, "this thread")


def _places(node: Node, workers: int, thread: str) -> Places:
    match node:
        case ProcessPrefetch():
            if node.options.num_workers and not run.has_lock():
                return _places(node.parent, 0, _AHEAD)
            return _places(node.parent, workers or node.options.num_workers, thread)
        case ThreadPrefetch():
            return _places(node.parent, workers, _AHEAD if node.buffer_size and not workers else thread)
        case WithOptions():
            return _places(node.parent, workers, thread)
    pool = f"{workers} worker process{'es' if workers > 1 else ''}"
    if workers and (stage_of(node) is not None or hasattr(node, "read_options")):
        return {id(step): pool for step in _all(node)}
    if hasattr(node, "read_options"):
        where = _readers(node.read_options, thread)
        return {id(step): where for step in _all(node)}
    if workers and remote_of(node) is not None:
        return {id(node): "1 worker process"}
    if workers and isinstance(node, steps.Step):
        above, spreads = spreads_of(node)
        spread = {id(step): f"{pool}, where it pays" for run in spreads for step in run.steps}
        return {**_places(above, workers, thread), **spread}
    alone = not node.parents or isinstance(node, steps.Step)
    found: Places = {id(node): thread if alone else f"{thread}, in order"}
    for parent in node.parents:
        found |= _places(ToIter(parent) if isinstance(parent, MapNode) else parent, workers, thread)
    return found


def _all(node: Node) -> Iterator[Node]:
    yield node
    for parent in node.parents:
        yield from _all(parent)


def _readers(options: ReadOptions, thread: str) -> str:
    threads = int(options.num_threads) if int(options.prefetch_buffer_size) else 0
    return f"up to {threads} thread{'s' if threads > 1 else ''}, ahead" if threads else thread
