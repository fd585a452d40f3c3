"""A loader's state as bytes: its position in the reference's JSON, with what it was taken from."""

import json
import re
from typing import Any

import numpy as np

from grain._src.errors import StateError
from grain._src.nodes.counts import count
from grain._src.nodes.loader_source import SampledSource
from grain._src.nodes.stream import field
from grain._src.nodes.worker_states import merge_worker_states

_VERSION = 2
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def describe_sampler(sampler: Any) -> str:
    """Returns what a state says about the sampler."""
    return _ADDRESS.sub("", repr(sampler))


def describe_source(source: Any) -> str:
    """Returns what a state says about the source: its `repr`, or its type where that would show the data."""
    return str(type(source)) if isinstance(source, list | tuple | np.ndarray) else _ADDRESS.sub("", repr(source))


class StateFormat:
    """Writes and reads the states of one loader.

    The fields: `last_seen_indices`, the sampler's index last read, by worker (here always one, whoever computes);
    `sampler` and `data_source`, what they were, to be checked; and `pipeline` where the position is not all there is to say.
    """

    def __init__(self, sampled: SampledSource, source: Any) -> None:
        self._sampled = sampled
        self._sampler = describe_sampler(sampled.sampler)
        self._source = describe_source(source)

    def encode(self, pipeline: dict[str, Any]) -> bytes:
        """Returns the bytes for a pipeline's state."""
        root = pipeline
        while "next_index" not in root:
            root = root["parent"]
        state = {
            "version": _VERSION,
            "last_seen_indices": {"0": self._sampled.index_at(root["next_index"] - 1)},
            "last_worker_index": -1,
            "worker_count": 0,
            "sampler": self._sampler,
            "data_source": self._source,
        }
        if root is not pipeline:
            state["pipeline"] = pipeline
        return json.dumps(state, indent=4).encode()

    def decode(self, state: bytes, validate: bool) -> dict[str, Any]:
        """Returns the pipeline's state that `state` means for this loader."""
        if not isinstance(state, bytes | bytearray):
            raise StateError(f"a loader's state is bytes, as get_state() returns, got {type(state).__name__}")
        try:
            fields = json.loads(state)
        except ValueError as error:
            raise StateError(f"a loader's state is JSON, got {bytes(state[:80])!r}") from error
        if not isinstance(fields, dict):
            raise StateError(f"a loader's state is a JSON object, got {fields!r:.80}")
        if "version" not in fields and "last_seen_indices" not in fields:
            return self._bare_pipeline(fields)
        if (version := fields.get("version", 1)) not in (1, _VERSION):
            raise StateError(f"the state is of version {version!r}; this library reads versions 1 and {_VERSION}")
        if validate:
            self._check(fields)
        workers = count({"worker_count": 0, **fields}, "worker_count")
        position = self._position(field(fields, "last_seen_indices", dict), workers)
        return fields.get("pipeline", {"next_index": position})  # type: ignore[no-any-return]

    def _check(self, fields: dict[str, Any]) -> None:
        for name, here in (("sampler", self._sampler), ("data_source", self._source)):
            if (there := _ADDRESS.sub("", field(fields, name, str))) != here:
                raise StateError(
                    f"the {name} has changed since the state was taken:\n  in the state: {there}\n  in the loader: {here}\n"
                    f"They are compared by `repr({name})`: give your own class a `__repr__` that says what it reads."
                )

    def _position(self, last_seen: dict[str, Any], workers: int) -> int:
        """Returns how many reads, from the first on, all workers together have done.

        Of W workers, number w does the reads w, w + W, w + 2W, …
        """
        sampled, count = self._sampled, len(last_seen)
        if count != max(1, workers) or set(last_seen) != {str(worker) for worker in range(count)}:
            raise StateError(f"last_seen_indices must name each of {workers!r} workers, got {sorted(last_seen)}")
        reads: list[int] = []
        for worker in range(count):
            distance = field(last_seen, str(worker), int) - sampled.first
            if (
                distance % sampled.step
                or (distance // sampled.step - worker) % count
                or distance // sampled.step < worker - count
            ):
                raise StateError(
                    f"last_seen_indices {last_seen} are not reads of shard {sampled.first} of {sampled.step}: "
                    "was the state taken with other shard_options?"
                )
            reads.append(distance // sampled.step)
        position = 1 + max(reads)
        if min(reads) < position - count:
            behind = reads.index(min(reads))
            raise StateError(
                f"the state was taken with {count} workers that each made batches of, or filtered, its own records: worker "
                f"{behind} has done its reads up to number {min(reads)}, others are at {max(reads)}. No single position "
                "describes this. Use a state that was taken after all workers had given equally many batches."
            )
        if position > sampled.count:
            raise StateError(f"the state is at read {position}, but the loader has {sampled.count}")
        return position

    def _bare_pipeline(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Returns the state of a loader with a flat map, which the reference writes without a description."""
        fields = merge_worker_states(fields) or fields
        if "parent" not in fields:
            raise StateError(f"the state is not of a loader: it has {sorted(fields)}")
        inner = fields["parent"]
        if isinstance(inner, dict) and inner.get("next_index") == self._sampled.count:
            return {**fields, "next_index_in_buffer": 0}
        return fields
