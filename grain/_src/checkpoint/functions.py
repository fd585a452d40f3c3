"""Describes functions and parameters as text that is the same in every process and on every run."""

import dataclasses
import dis
import enum
import functools
import hashlib
import inspect
import sys
from collections.abc import Iterable
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

_MOST_CHARACTERS = 200
_MOST_ITEMS = 1000
_MOST_BYTES = 1 << 20
_DEPTH = 4
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))


def describe(value: Any) -> str:
    """Returns a parameter as text without addresses; what is too long to print is told apart by a digest.

    >>> describe({"rate": 0.5, "sizes": (1, 2)}), describe(len), describe(functools.partial(max, 3))
    ("{'rate': 0.5, 'sizes': (1, 2)}", 'len', 'partial(max, 3)')
    """
    text = _text(value, _DEPTH)
    if len(text) <= _MOST_CHARACTERS:
        return text
    return f"{text[: _MOST_CHARACTERS - 20]}… #{_digest(text.encode())}"


def code_of(function: Any) -> str | None:
    """Returns the Python version and a digest of what a function does; None if it is not written in Python.

    Byte code differs between versions of Python, so two digests compare only if the versions are the same.
    """
    parts = list(_codes(function, _DEPTH))
    if not parts:
        return None
    return f"{sys.version_info.major}.{sys.version_info.minor}:{_digest(*parts)}"


def _digest(*parts: bytes) -> str:
    return hashlib.blake2b(b"\0".join(parts), digest_size=4).hexdigest()


def _text(value: Any, depth: int) -> str:
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, type):
        return value.__qualname__.replace("<locals>.", "")
    if isinstance(value, ModuleType):
        return value.__name__
    if depth <= 0:
        return type(value).__name__
    if isinstance(value, np.dtype):
        return str(value)
    if isinstance(value, np.ndarray):
        return _array(value)
    if callable(value):
        return _function(value, depth)
    return _container(value, depth - 1) or _instance(value, depth)


def _array(array: "np.ndarray[Any, Any]") -> str:
    known = array.nbytes <= _MOST_BYTES and not array.dtype.hasobject
    digest = f", #{_digest(np.ascontiguousarray(array).tobytes())}" if known else ""
    return f"array({array.dtype}{list(array.shape)}{digest})"


def _container(value: Any, depth: int) -> str | None:
    kind = type(value)
    if kind not in (list, tuple, set, frozenset, dict):
        return None
    if len(value) > _MOST_ITEMS:
        return f"{kind.__name__} of {len(value)}"
    if kind is dict:
        return f"{{{', '.join(f'{_text(k, depth)}: {_text(v, depth)}' for k, v in value.items())}}}"
    if kind is list:
        return f"[{', '.join(_text(item, depth) for item in value)}]"
    if kind is tuple:
        return f"({', '.join(_text(item, depth) for item in value)}{',' if len(value) == 1 else ''})"
    return f"{{{', '.join(sorted(_text(item, depth) for item in value))}}}"  # the order of a set differs between runs


def _instance(value: Any, depth: int) -> str:
    parameters = ", ".join(f"{name}={_text(part, depth - 1)}" for name, part in _parameters(value).items())
    return f"{type(value).__qualname__.replace('<locals>.', '')}({parameters})"


def _parameters(value: Any) -> dict[str, Any]:
    """Returns what an object was made with: its fields, or its attributes named as arguments of its constructor.

    Other attributes may be caches or counters, which say nothing about what the object does.
    """
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value) if field.init}
    if isinstance(fields := getattr(value, "_fields", None), tuple) and isinstance(value, tuple):
        return dict(zip(fields, value, strict=True))
    try:
        names = list(inspect.signature(type(value).__init__).parameters)[1:]
        held = vars(value)
    except (TypeError, ValueError):
        return {}
    found = {}
    for name in names:
        for attribute in (name, f"_{name}"):
            if attribute in held:
                found[name] = held[attribute]
                break
    return found


def _function(value: Any, depth: int) -> str:
    if isinstance(value, functools.partial):
        given = [_text(value.func, depth - 1), *(_text(arg, depth - 1) for arg in value.args)]
        given += [f"{name}={_text(arg, depth - 1)}" for name, arg in sorted(value.keywords.items())]
        return f"partial({', '.join(given)})"
    if isinstance(value, MethodType):
        return _text(value.__self__, depth)
    if isinstance(value, BuiltinFunctionType):
        owner = value.__self__
        if owner is None or isinstance(owner, ModuleType | type):
            return value.__qualname__
        return f"{_text(owner, depth - 1)}.{value.__name__}"
    if isinstance(value, FunctionType):
        held = ", ".join(f"{name}={_text(part, depth - 1)}" for name, part in _held(value).items() if _is_fixed(part))
        return f"{value.__qualname__.replace('<locals>.', '')}{f'[{held}]' if held else ''}"
    inner = getattr(value, "__wrapped__", None)
    if inner is not None and callable(inner):
        return _function(inner, depth - 1) if depth > 1 else type(value).__name__
    if isinstance(name := getattr(value, "__qualname__", None), str):
        return name
    return _instance(value, depth)


def _held(function: FunctionType) -> dict[str, Any]:
    """Returns the values that a function took from where it was written: captured variables and defaults."""
    held: dict[str, Any] = {}
    arguments = function.__code__.co_varnames[: function.__code__.co_argcount]
    defaults = function.__defaults__ or ()
    held.update(zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True))
    held.update(function.__kwdefaults__ or {})
    rebound = _rebound(function.__code__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if name in rebound:
            continue  # a counter, not a parameter
        try:
            held[name] = cell.cell_contents
        except ValueError:
            continue  # not assigned yet
    return held


def _rebound(code: CodeType) -> set[str]:
    if not code.co_freevars:
        return set()
    found = {str(at.argval) for at in dis.get_instructions(code) if at.opname == "STORE_DEREF"}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _rebound(constant)
    return found


def _is_fixed(value: Any) -> bool:
    """Whether a captured value can be a parameter: it cannot change while the pipeline runs."""
    if isinstance(value, tuple):
        return all(map(_is_fixed, value))
    return isinstance(value, (*_PLAIN, np.generic, enum.Enum, type, np.dtype)) or callable(value)


def _codes(function: Any, depth: int) -> Iterable[bytes]:
    if depth <= 0 or isinstance(function, type):
        return
    if isinstance(function, functools.partial):
        for part in (function.func, *function.args, *function.keywords.values()):
            if callable(part):
                yield from _codes(part, depth - 1)
    elif isinstance(function, MethodType):
        yield from _codes(function.__func__, depth)
    elif isinstance(function, FunctionType):
        yield _code_bytes(function.__code__)
        for part in _held(function).values():
            if callable(part):
                yield from _codes(part, depth - 1)
    elif callable(inner := getattr(function, "__wrapped__", None)):
        yield from _codes(inner, depth - 1)
    elif isinstance(method := inspect.getattr_static(type(function), "__call__", None), FunctionType):
        yield from _codes(method, depth - 1)


def _code_bytes(code: CodeType) -> bytes:
    constants = [_constant(constant) for constant in code.co_consts]
    return b"\0".join([code.co_code, repr((code.co_names, code.co_varnames)).encode(), *constants])


def _constant(constant: Any) -> bytes:
    if isinstance(constant, CodeType):
        return _code_bytes(constant)
    if isinstance(constant, tuple):
        return b"(" + b",".join(map(_constant, constant)) + b")"
    if isinstance(constant, frozenset):
        return b"{" + b",".join(sorted(map(_constant, constant))) + b"}"
    return repr(constant).encode()
