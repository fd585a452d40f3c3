"""What is in a checkpoint file: JSON with a format version, the state, the pipeline's fingerprint and a digest."""

import base64
import binascii
import dataclasses
import hashlib
import json
from typing import Any, TypeAlias

import numpy as np

from grain._src.checkpoint.fingerprint import Fingerprint
from grain._src.errors import CheckpointError

VERSION = 1
_MARK = "grain_checkpoint"

State: TypeAlias = dict[str, Any] | bytes


@dataclasses.dataclass(frozen=True)
class Saved:
    """A decoded checkpoint.

    Args:
      state: what `get_state` returned.
      pipeline: the fingerprint of the pipeline, None if it is not known.
      shared: whether the state is the same on every host, so that any host can go on from it.
      bare: the bytes of a file that holds a state and nothing else, as the original library writes it.
    """

    state: State
    pipeline: Fingerprint | None = None
    shared: bool = False
    bare: bytes | None = None


def encode(saved: Saved) -> bytes:
    """Returns the contents of a checkpoint file."""
    kind, state = _pack(saved.state)
    body = {_MARK: VERSION, kind: state, "pipeline": saved.pipeline, "shared": saved.shared}
    try:
        # Once through JSON, so that the digest is of what a reader will see.
        body = json.loads(json.dumps(body, default=_plain))
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"the state cannot be written as JSON: {error}. It is {saved.state!r:.200}") from error
    return json.dumps({**body, "digest": _digest(body)}, indent=1).encode()


def decode(data: bytes, where: str) -> Saved:
    """Returns what the file `where` with the contents `data` holds."""
    if not data.strip():
        raise CheckpointError(f"the checkpoint file {where} is empty")
    try:
        body = json.loads(data)
    except ValueError as error:
        raise CheckpointError(f"the checkpoint file {where} is damaged or not a checkpoint: {error}") from None
    if not isinstance(body, dict):
        raise CheckpointError(f"{where} is not a checkpoint file: it holds a {type(body).__name__}")
    if _MARK not in body:
        return Saved(body, bare=data)
    version = body[_MARK]
    if not isinstance(version, int) or version < 1:
        raise CheckpointError(f"the checkpoint file {where} is damaged: its format version is {version!r}")
    if version > VERSION:
        raise CheckpointError(
            f"the checkpoint file {where} was written by a newer grain: its format is {version}, this one reads up to "
            f"{VERSION}. Upgrade grain to restore it."
        )
    digest = body.pop("digest", None)
    if digest != _digest(body):
        raise CheckpointError(f"the checkpoint file {where} is damaged: its contents do not match its digest")
    return Saved(_unpack(body, where), body.get("pipeline"), bool(body.get("shared")))


def _digest(body: dict[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(body, sort_keys=True).encode(), digest_size=8).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not a JSON type")


def _pack(state: State) -> tuple[str, Any]:
    if isinstance(state, bytes):
        try:
            return "text", state.decode()
        except UnicodeDecodeError:
            return "base64", base64.b64encode(state).decode()
    return "state", state


def _unpack(body: dict[str, Any], where: str) -> State:
    match body:
        case {"state": dict(state)}:
            return state
        case {"text": str(text)}:
            return text.encode()
        case {"base64": str(text)}:
            try:
                return base64.b64decode(text, validate=True)
            except binascii.Error:
                pass
    raise CheckpointError(f"the checkpoint file {where} is damaged: it holds no state")
