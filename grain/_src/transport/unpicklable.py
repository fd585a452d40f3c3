"""Why an object cannot be pickled: the way from it down to the part that is to blame."""

import functools
import itertools
import types
from collections.abc import Iterator
from typing import Any

import cloudpickle

_MAX_DEPTH = 50


def explain_unpicklable(obj: Any, name: str | None = None) -> str:
    """Says which part of an object cannot be pickled, and why.

    >>> import threading
    >>> lock = threading.Lock()
    >>> print(explain_unpicklable({"fn": [lambda x: (lock, x)]}))
    dict['fn'][0].<global lock> cannot be pickled: it is a _thread.lock (cannot pickle '_thread.lock' object)
    """
    path = name or type(obj).__name__
    error = _failure(obj)
    if error is None:
        return f"{path} can be pickled"
    seen: set[int] = set()
    for _ in range(_MAX_DEPTH):
        seen.add(id(obj))
        for step, part in _parts(obj):
            if id(part) in seen:
                continue
            deeper = _failure(part)
            if deeper is not None:
                path, obj, error = path + step, part, deeper
                break
        else:
            break
    kind = type(obj)
    article = f"{kind.__module__}.{kind.__qualname__}" if kind.__module__ != "builtins" else kind.__qualname__
    return f"{path} cannot be pickled: it is a {article} ({error})"


class _Nowhere:
    """A file that forgets."""

    def write(self, data: Any) -> int:
        return len(data)


def _failure(obj: Any) -> Exception | None:
    try:
        # Large buffers are never the reason: out of band they cost nothing.
        cloudpickle.Pickler(_Nowhere(), 5, buffer_callback=lambda buffer: None).dump(obj)
    except Exception as error:
        return error.with_traceback(None)
    return None


def _parts(obj: Any) -> Iterator[tuple[str, Any]]:
    """The parts that pickle would visit, each with how to write the way to it."""
    if isinstance(obj, dict):
        for key, value in obj.items():
            yield f".<key {key!r}>", key
            yield f"[{key!r}]", value
    elif isinstance(obj, (list, tuple, set, frozenset)):
        names = getattr(obj, "_fields", None)
        for i, item in enumerate(obj):
            yield f".{names[i]}" if names else f"[{i}]", item
    elif isinstance(obj, functools.partial):
        yield ".func", obj.func
        for i, arg in enumerate(obj.args):
            yield f".args[{i}]", arg
        for key, value in obj.keywords.items():
            yield f".keywords[{key!r}]", value
    elif isinstance(obj, types.MethodType):
        yield ".__self__", obj.__self__
        yield ".__func__", obj.__func__
    elif isinstance(obj, types.FunctionType):
        yield from _function_parts(obj)
    elif isinstance(obj, type):
        for key, value in vars(obj).items():
            if key not in ("__dict__", "__weakref__"):
                yield f".{key}", value
    if not isinstance(obj, (type, types.FunctionType)):
        for key, value in _attributes(obj):
            yield f".{key}", value
        yield f".<class {type(obj).__name__}>", type(obj)


def _function_parts(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for key, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f".<closure {key}>", cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    for key in _global_names(function.__code__):
        if key in function.__globals__:
            yield f".<global {key}>", function.__globals__[key]
    for i, value in enumerate(function.__defaults__ or ()):
        yield f".<default {i}>", value
    for key, value in (function.__kwdefaults__ or {}).items():
        yield f".<default {key}>", value
    yield from ((f".{key}", value) for key, value in vars(function).items())


def _global_names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)


def _attributes(obj: Any) -> Iterator[tuple[str, Any]]:
    state = getattr(obj, "__dict__", {})
    slots = itertools.chain.from_iterable(_slots_of(kind) for kind in type(obj).__mro__)
    # An object that says itself what is pickled of it is asked, so that what it leaves out is not blamed.
    if type(obj).__getstate__ is not getattr(object, "__getstate__", None):
        try:
            said = obj.__getstate__()
        except Exception:
            said = None
        if isinstance(said, dict):
            yield from ((str(key), value) for key, value in said.items())
            return
    yield from state.items()
    yield from ((slot, getattr(obj, slot)) for slot in slots if hasattr(obj, slot))


def _slots_of(kind: type) -> tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    slots = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(slot for slot in slots if slot not in ("__dict__", "__weakref__"))
