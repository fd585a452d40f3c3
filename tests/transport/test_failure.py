"""Exceptions that cross: type, arguments, notes, causes, and where they were raised."""

import threading
import traceback
from typing import Any

import pytest

from grain._src.transport.failure import RemoteError, decode_error, encode_error


class OddSignature(Exception):
    def __init__(self, code: int, *, detail: str) -> None:
        super().__init__(f"code {code}: {detail}")
        self.code = code
        self.detail = detail


class WordsTwice(Exception):
    def __init__(self, what: str) -> None:
        super().__init__(f"cannot read {what}")


class HoldsLock(ValueError):
    def __init__(self, message: str) -> None:
        super().__init__(message, threading.Lock())
        self.lock = threading.Lock()
        self.hint = "keep me"


class RefusesToBeMade(Exception):
    def __new__(cls, *args: Any) -> "RefusesToBeMade":
        if not args or not callable(args[0]):
            raise RuntimeError("not like this")
        return super().__new__(cls, *args)

    def __str__(self) -> str:
        return "made once"


def raised(error: BaseException) -> BaseException:
    """The error as caught, with a traceback."""
    try:
        raise error
    except BaseException as caught:
        return caught


def crossed(error: BaseException) -> BaseException:
    return decode_error(encode_error(error))


@pytest.mark.parametrize(
    "error",
    [
        ValueError("bad value", 3),
        KeyError("missing"),
        FileNotFoundError(2, "No such file", "a.txt"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        StopIteration(5),
        KeyboardInterrupt(),
        SystemExit(3),
        AssertionError(),
        ExceptionGroup("several", [ValueError(1), KeyError(2)]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_builtin_exceptions_arrive_equal(error: BaseException) -> None:
    got = crossed(raised(error))
    assert type(got) is type(error)
    assert str(got) == str(error)
    assert repr(got.args) == repr(error.args)


def test_an_exception_with_its_own_signature_keeps_type_message_and_attributes() -> None:
    got = crossed(raised(OddSignature(7, detail="disk")))
    assert isinstance(got, OddSignature)
    assert str(got) == "code 7: disk"
    assert (got.code, got.detail) == (7, "disk")


def test_an_exception_that_words_its_message_keeps_the_message() -> None:
    got = crossed(raised(WordsTwice("a.txt")))
    assert isinstance(got, WordsTwice)
    assert str(got) == "cannot read a.txt"


def test_an_exception_that_holds_what_cannot_be_pickled_keeps_the_rest() -> None:
    got = crossed(raised(HoldsLock("busy")))
    assert isinstance(got, HoldsLock)
    assert got.args[0] == "busy"
    assert "lock" in got.args[1]
    assert got.hint == "keep me"
    assert not hasattr(got, "lock")


def test_an_exception_of_a_local_class_keeps_its_type() -> None:
    class Local(Exception):
        pass

    got = crossed(raised(Local("here")))
    assert type(got) is Local
    assert got.args == ("here",)


def test_an_exception_that_cannot_be_made_again_has_a_stand_in() -> None:
    got = crossed(raised(RefusesToBeMade(threading.Lock().acquire)))
    assert isinstance(got, RemoteError)
    assert got.type_name.endswith("RefusesToBeMade")
    assert str(got).endswith("RefusesToBeMade: made once")
    again = crossed(got)
    assert str(again) == str(got)
    assert isinstance(again, RemoteError)


def test_the_traceback_of_the_worker_is_a_note() -> None:
    def deep() -> None:
        raise ValueError("deep down")

    try:
        deep()
    except ValueError as error:
        got = crossed(error)
    (note,) = got.__notes__
    assert note.startswith("Raised in a worker process:\n")
    assert "in deep" in note
    assert "test_failure.py" in note
    assert note in "".join(traceback.format_exception(got))


def test_notes_and_causes_survive() -> None:
    cause = KeyError("the cause")
    cause.add_note("why")
    try:
        try:
            raise cause
        except KeyError as low:
            error = ValueError("high")
            error.add_note("index 5")
            raise error from low
    except ValueError as caught:
        got = crossed(caught)
    assert got.__notes__[0] == "index 5"
    assert isinstance(got.__cause__, KeyError)
    assert got.__cause__.__notes__[0] == "why"
    assert "in test_notes_and_causes_survive" in got.__cause__.__notes__[1]
    assert got.__suppress_context__


def test_the_context_survives() -> None:
    try:
        try:
            raise KeyError("first")
        except KeyError:
            raise ValueError("second")
    except ValueError as caught:
        got = crossed(caught)
    assert isinstance(got.__context__, KeyError)
    assert got.__cause__ is None
    assert not got.__suppress_context__


def test_an_endless_chain_of_causes_ends() -> None:
    first, second = ValueError(1), ValueError(2)
    first.__cause__, second.__cause__ = second, first
    assert isinstance(crossed(first), ValueError)


def test_an_exception_that_was_never_raised_has_no_note() -> None:
    assert not hasattr(crossed(ValueError(1)), "__notes__")
