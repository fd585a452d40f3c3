"""Describes functions and parameters as text that is the same in every process and on every run."""

import dataclasses
import dis
import enum
import functools
import hashlib
import inspect
import os
import sys
from collections.abc import Iterable
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

_MOST_CHARACTERS = 200
_MOST_ITEMS = 100
_MOST_PLAIN_ITEMS = 10_000
_MOST_BYTES = 1 << 20
_DEPTH = 4
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), range, slice)


def describe(value: Any) -> str:
    """Returns a parameter as text without addresses; what is too long to print is told apart by a digest.

    >>> describe({"rate": 0.5, "sizes": (1, 2)}), describe(len), describe(functools.partial(max, 3))
    ("{'rate': 0.5, 'sizes': (1, 2)}", 'len', 'partial(max, 3)')
    """
    return shorten(_text(value, _DEPTH))


def shorten(text: str) -> str:
    """Returns a long text cut, with a digest of the whole."""
    if len(text) <= _MOST_CHARACTERS:
        return text
    return f"{text[: _MOST_CHARACTERS - 20]}… #{digest(text.encode())}"


def describe_source(source: Any) -> str:
    """Returns which data a source reads, as far as that is known without reading it."""
    kind = type(source)
    if isinstance(source, np.ndarray):
        return f"{kind.__name__} {source.dtype}{list(source.shape)}"
    if isinstance(source, range):
        return repr(source)
    if kind.__module__.startswith("grain.") and " at 0x" not in (shown := repr(source)):
        return shorten(shown)
    known = {name: part for name, part in _parameters(source).items() if isinstance(part, (*_PLAIN, os.PathLike))}
    return shorten(f"{kind.__qualname__.replace('<locals>.', '')}{_arguments(known, _DEPTH) if known else ''}")


def code_of(function: Any) -> str | None:
    """Returns the Python version and a digest of what a function does; None if it is not written in Python.

    Byte code differs between versions of Python, so two digests compare only if the versions are the same.
    """
    parts = list(_codes(function, _DEPTH))
    if not parts:
        return None
    return f"{sys.version_info.major}.{sys.version_info.minor}:{digest(*parts)}"


def digest(*parts: bytes) -> str:
    """Returns a few characters that tell contents apart."""
    return hashlib.blake2b(b"\0".join(parts), digest_size=4).hexdigest()


def _text(value: Any, depth: int) -> str:
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, os.PathLike):
        return repr(os.fspath(value))
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
    return _container(value, depth - 2) or _instance(value, depth)


def _array(array: "np.ndarray[Any, Any]") -> str:
    known = array.nbytes <= _MOST_BYTES and not array.dtype.hasobject
    contents = f", #{digest(np.ascontiguousarray(array).tobytes())}" if known else ""
    return f"array({array.dtype}{list(array.shape)}{contents})"


def _container(value: Any, depth: int) -> str | None:
    kind = type(value)
    if kind not in (list, tuple, set, frozenset, dict):
        return None
    flat = kind in (list, tuple) and len(value) <= _MOST_PLAIN_ITEMS and all(isinstance(item, _PLAIN) for item in value)
    if flat:
        return repr(value)
    if len(value) > _MOST_ITEMS:
        return f"{kind.__name__} of {len(value)}"
    if kind is dict:
        return f"{{{', '.join(f'{_text(k, depth)}: {_text(v, depth)}' for k, v in value.items())}}}"
    items = [_text(item, depth) for item in value]
    if kind is list:
        return f"[{', '.join(items)}]"
    if kind is tuple:
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    return f"{{{', '.join(sorted(items))}}}"  # the order of a set differs between runs


def _instance(value: Any, depth: int) -> str:
    return f"{type(value).__qualname__.replace('<locals>.', '')}{_arguments(_parameters(value), depth - 1)}"


def _arguments(parameters: dict[str, Any], depth: int) -> str:
    return f"({', '.join(f'{name}={_text(part, depth)}' for name, part in parameters.items())})"


def _parameters(value: Any) -> dict[str, Any]:
    """Returns what an object was made with: its fields, or its attributes named as arguments of its constructor.

    Other attributes may be caches or counters, which say nothing about what the object does.
    """
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value) if field.init}
    if isinstance(fields := getattr(value, "_fields", None), tuple) and isinstance(value, tuple):
        return dict(zip(fields, value, strict=True))
    make, held = inspect.unwrap(type(value).__init__), getattr(value, "__dict__", {})
    if not isinstance(make, FunctionType):
        return {}
    code = make.__code__
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
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
