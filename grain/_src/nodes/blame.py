"""Says where an error comes from: which transformation, which index, which record of which source."""

from collections.abc import Iterator, Sequence
from itertools import chain
from types import CodeType
from typing import Any

from grain._src.nodes.base import MapNode, Node
from grain._src.nodes.source import Source

_NOTE = "grain: raised "


def annotate(error: BaseException, node: MapNode, index: int) -> None:
    """Adds a note to what a user's function raised for element `index` of `node`."""
    if not _is_annotated(error):
        _add_note(error, [node], f"for element {index} of the pipeline{_made_of(node, index)}")


def annotate_steps(
    error: BaseException, steps: Sequence[Node], position: int | None, source: MapNode | None = None
) -> None:
    """Adds a note to what one of a run of steps raised.

    Args:
      error: what was raised.
      steps: the run.
      position: the number of the record after the one that failed, where it is known.
      source: where the records are numbered.
    """
    if _is_annotated(error):
        return
    if position is None:
        _add_note(error, steps, "in the stream")
    else:
        made_of = "" if source is None else _made_of(source, position - 1)
        _add_note(error, steps, f"for the element at position {position - 1}{made_of}")


def _is_annotated(error: BaseException) -> bool:
    return any(note.startswith(_NOTE) for note in getattr(error, "__notes__", ()))


def _add_note(error: BaseException, nodes: Sequence[Node], place: str) -> None:
    culprit = _culprit(error, nodes)
    error.add_note(f"{_NOTE}{f'by `{culprit.describe()}` ' if culprit is not None else ''}{place}")


def _made_of(node: MapNode, index: int) -> str:
    records = ", ".join(_records(node, index))
    return f", made of {records}" if records else ""


def _records(node: MapNode, index: int, most: int = 3) -> Iterator[str]:
    """Yields the names of the first source records behind an element."""
    waiting = [(node, index)]
    while waiting and most:
        here, at = waiting.pop(0)
        try:
            above = here.inputs(at)
        except Exception:
            return  # a user's selection map may be what failed
        if above:
            waiting[:0] = above[: most + 1]
        elif not here.parents:
            length = here.length
            what = type(here.source).__name__ if isinstance(here, Source) else here.describe()
            yield f"record {at % length if length else at} of {what}"
            most -= 1
    if waiting:
        yield "…"


def _above(node: Node) -> Iterator[Node]:
    yield node
    for parent in node.parents:
        yield from _above(parent)


def _code(function: Any) -> CodeType | None:
    for _ in range(8):
        if (code := getattr(function, "__code__", None)) is not None:
            return code  # type: ignore[no-any-return]
        inner = getattr(function, "__func__", None) or getattr(function, "func", None)
        function = inner if inner is not None else getattr(type(function), "__call__", None)  # noqa: B004
    return None


def _culprit(error: BaseException, nodes: Sequence[Node]) -> Node | None:
    """Finds the node whose function is the outermost of the user's frames in the traceback."""
    owners: dict[CodeType, Node] = {}
    for candidate in chain.from_iterable(map(_above, nodes)):
        for function in candidate.functions:
            code = _code(function)
            if code is not None:
                owners.setdefault(code, candidate)
    trace = error.__traceback__
    while trace is not None:
        owner = owners.get(trace.tb_frame.f_code)
        if owner is not None:
            return owner
        trace = trace.tb_next
    return None
