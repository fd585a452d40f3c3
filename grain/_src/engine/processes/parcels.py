"""What workers are sent once: the pipeline, or a part of it, and the user's init function, pickled.

What pickles is imported where it is used, which is while the first worker starts. A worker loads this module only for
what needs more than unpickling: a source that travels by columns, modules that must not be imported.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from grain._src.columns import Packed, pack, unpack
from grain._src.engine.plan import Remote, Spread, Stage
from grain._src.errors import UnpicklableError
from grain._src.nodes.base import Node
from grain._src.nodes.source import Source
from grain._src.transport.share import Shared, dump_shared


def dump_work(work: Stage | Spread | Remote) -> Shared:
    """Pickles what workers are going to compute; an error names the transformation and the attribute that it cannot."""
    try:
        with _unfinished_modules_by_value() as names:
            return dump_shared(_Unfinished(names, work) if names else work, {Source: _reduce_source})
    except OSError as error:
        raise UnpicklableError(
            f"The pipeline cannot be sent to worker processes: {error}. Large arrays travel in shared memory: is there room?"
        ) from error
    except Exception as error:
        raise UnpicklableError(
            f"The pipeline cannot be sent to worker processes: {_where_unpicklable(work)}. Create such an object inside "
            "the function that uses it, or give its class `__getstate__`/`__reduce__`."
        ) from error


@contextlib.contextmanager
def _unfinished_modules_by_value() -> Iterator[list[str]]:
    """Pickles what modules that are being imported hold: a worker that imported them would run the same program again."""
    import cloudpickle

    known = cloudpickle.list_registry_pickle_by_value()
    unfinished = [
        module
        for name, module in list(sys.modules.items())
        if getattr(getattr(module, "__spec__", None), "_initializing", False) and name not in known
    ]
    for module in unfinished:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield [module.__name__ for module in unfinished]
    finally:
        for module in unfinished:
            cloudpickle.unregister_pickle_by_value(module)


class _Unfinished:
    """What is sent, with the names of modules that a worker must not import, not even to send something back."""

    def __init__(self, names: list[str], work: Any) -> None:
        self._names = names
        self._work = work

    def __reduce__(self) -> tuple[Any, ...]:
        return _without_modules, (self._names, self._work)


def _without_modules(names: list[str], work: Any) -> Any:
    for name in names:
        sys.modules.setdefault(name, ModuleType(name))
    return work


def dump_init(function: Callable[[int, int], None]) -> bytes:
    """Pickles what the user wants to be called in each worker."""
    import cloudpickle

    try:
        with _unfinished_modules_by_value():
            data: bytes = cloudpickle.dumps(function)
    except Exception as error:
        from grain._src.transport.unpicklable import explain_unpicklable

        raise UnpicklableError(
            f"worker_init_fn cannot be sent to worker processes: {explain_unpicklable(function)}"
        ) from error
    return data


def _reduce_source(node: Source) -> tuple[Any, ...]:
    """Elements in memory that are alike travel by columns, which all workers share."""
    packed = pack(node.source)
    if packed is None:
        return node.__reduce_ex__(5)  # type: ignore[return-value]
    return _restore_source, (packed,)


def _restore_source(packed: Packed) -> Source:
    return Source(unpack(packed))


def _where_unpicklable(work: Stage | Spread | Remote) -> str:
    """Names the transformation that holds what cannot be pickled, and the attribute."""
    import cloudpickle

    from grain._src.transport.unpicklable import explain_unpicklable

    for node in _nodes_of(work):
        for name in node.__dataclass_fields__:
            if name in ("parent", "parents", "components"):
                continue
            try:
                cloudpickle.dumps(getattr(node, name))
            except Exception:
                return f"in `{node.describe()}`, {explain_unpicklable(getattr(node, name))}"
    return explain_unpicklable(work)


def _nodes_of(work: Stage | Spread | Remote) -> list[Node]:
    match work:
        case Spread():
            return list(work.steps)
        case Remote():
            return [work.node]
        case Stage():
            nodes, waiting = list(work.chain), [work.root.parent]
            while waiting:
                node = waiting.pop()
                nodes.append(node)
                waiting += node.parents  # type: ignore[arg-type]
            return nodes
