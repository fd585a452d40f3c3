"""How exceptions cross: the same type, arguments, notes and causes, and where in the worker they were raised."""

import pickle
from importlib import import_module
from typing import Any, NamedTuple

_MAX_CHAIN = 16  # causes of causes; a cycle ends here too


class RemoteError(Exception):
    """Stands in for an exception of a worker that cannot be made again in this process."""

    def __init__(self, type_name: str, message: str) -> None:
        super().__init__(type_name, message)
        self.type_name = type_name
        self.message = message

    def __str__(self) -> str:
        return f"{self.type_name}: {self.message}"


class _Failure(NamedTuple):
    """One exception of the chain, in parts: what can be made again of them, is."""

    type_name: str
    message: str
    whole: bytes | None  # the exception as it pickles itself
    parts: bytes | None  # type, args, attributes
    notes: list[str]
    traceback: str
    cause: "_Failure | None"
    context: "_Failure | None"
    suppress_context: bool


def encode_error(error: BaseException) -> bytes:
    """An exception as bytes, with the text of its traceback; never raises."""
    return pickle.dumps(_take_apart(error, _MAX_CHAIN), 5)


def decode_error(data: bytes | memoryview) -> BaseException:
    """The exception again, with a note that says where in the worker it was raised."""
    return _put_together(pickle.loads(data))


def _take_apart(error: BaseException, depth: int) -> _Failure:
    cause = error.__cause__
    context = error.__context__ if error.__context__ is not cause else None
    return _Failure(
        type_name=_type_name(type(error)),
        message=_text_of(error),
        whole=_dump_whole(error),
        parts=_dump_parts(error),
        notes=[str(note) for note in getattr(error, "__notes__", ())],
        traceback=_traceback_text(error),
        cause=None if cause is None or not depth else _take_apart(cause, depth - 1),
        context=None if context is None or not depth else _take_apart(context, depth - 1),
        suppress_context=error.__suppress_context__,
    )


def _put_together(failure: _Failure) -> BaseException:
    error = _load_whole(failure.whole) or _load_parts(failure.parts) or RemoteError(failure.type_name, failure.message)
    if failure.notes:
        error.__notes__ = list(failure.notes)
    if failure.traceback:
        error.add_note(f"Raised in a worker process:\n{failure.traceback}")
    if failure.cause is not None:
        error.__cause__ = _put_together(failure.cause)
    if failure.context is not None:
        error.__context__ = _put_together(failure.context)
    error.__suppress_context__ = failure.suppress_context
    return error


def _dump_whole(error: BaseException) -> bytes | None:
    data = _dump(error)
    if data is None:
        return None
    # Many exceptions pickle well and cannot be read back: their __init__ takes other arguments than `args` holds.
    again = _load_whole(data)
    return data if type(again) is type(error) and _text_of(again) == _text_of(error) else None


def _load_whole(data: bytes | None) -> BaseException | None:
    loaded = _load(data)
    return loaded if isinstance(loaded, BaseException) else None


def _dump_parts(error: BaseException) -> bytes | None:
    attributes = {name: value for name, value in vars(error).items() if name != "__notes__"}
    kept = {name: value for name, value in attributes.items() if _dump(value) is not None}
    args = tuple(arg if _dump(arg) is not None else repr(arg) for arg in error.args)
    return _dump((type(error), args, kept))


def _load_parts(data: bytes | None) -> BaseException | None:
    loaded = _load(data)
    if loaded is None:
        return None
    kind, args, attributes = loaded
    try:
        error: BaseException = kind.__new__(kind, *args)
        error.args = args
        vars(error).update(attributes)
        str(error)
    except Exception:
        return None
    return error


def _dump(value: Any) -> bytes | None:
    for pickler in ("pickle", "cloudpickle"):
        try:
            data: bytes = import_module(pickler).dumps(value, 5)
        except Exception:
            continue
        return data
    return None


def _load(data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return pickle.loads(data)
    except Exception:
        return None


def _type_name(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _text_of(error: BaseException | None) -> str:
    try:
        return str(error)
    except Exception:
        return "<its message cannot be shown>"


def _traceback_text(error: BaseException) -> str:
    if error.__traceback__ is None:
        return ""
    try:
        import traceback  # most workers never need it

        return "".join(traceback.format_tb(error.__traceback__)).rstrip()
    except Exception:
        return "<its traceback cannot be shown>"
