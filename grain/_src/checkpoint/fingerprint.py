"""A pipeline in words: which transformations, with which parameters, over which source. Two of them can be compared.

What does not change elements is left out: read options, worker processes, buffers. A fingerprint is JSON: a list of
steps from the source down, each `{"step": text}`, with `"code"` where it calls a user's function, and with
`"branches"` where it has more than one parent: the fingerprints of all, or a digest of them if they are many.
"""

import dataclasses
from difflib import SequenceMatcher
from typing import Any, TypeAlias

from grain._src.checkpoint.functions import code_of, describe, describe_source, digest
from grain._src.nodes.base import Node
from grain._src.nodes.custom import CustomMap, CustomStream
from grain._src.nodes.mix import StreamMix
from grain._src.nodes.source import Source
from grain._src.options import DatasetOptions, MultiprocessingOptions, ReadOptions

Step: TypeAlias = dict[str, Any]
Fingerprint: TypeAlias = list[Step]

_MOST_BRANCHES = 16

_OPTIONS = (ReadOptions, MultiprocessingOptions, DatasetOptions)


def fingerprint(node: Node) -> Fingerprint:
    """Returns the description of the pipeline that ends in `node`.

    >>> import grain
    >>> [step["step"] for step in fingerprint(grain.MapDataset.range(4).shuffle(seed=1).batch(2)._node)]
    ['range(start=0, stop=4, step=1)', 'shuffle(seed=1)', 'batch(batch_size=2)']
    """
    above: Fingerprint = []
    branches: Any = None
    if len(node.parents) == 1 and not isinstance(node, StreamMix):
        above = fingerprint(node.parents[0])
    elif isinstance(node, StreamMix) and node.keys is not None:
        branches = {key: fingerprint(parent) for key, parent in zip(node.keys, node.parents, strict=True)}
    elif node.parents:
        branches = _digested([fingerprint(parent) for parent in node.parents])
    if node.transparent and not getattr(node, "allow_nones", False):
        return above
    step: Step = {"step": _describe_step(node)}
    codes = [code for function in node.functions if (code := code_of(function)) is not None]
    if codes and not isinstance(node, Source):
        step["code"] = " ".join(codes)
    if branches is not None:
        step["branches"] = branches
    return [*above, step]


def _digested(branches: list[Fingerprint]) -> list[Fingerprint] | str:
    if len(branches) <= _MOST_BRANCHES:
        return branches
    return f"{len(branches)} components #{digest(*(_essence(branch).encode() for branch in branches))}"


def _essence(branch: Fingerprint) -> str:
    """A fingerprint without the digests of code, which another Python makes differently."""
    return "\n".join(f"{step['step']} {step.get('branches', '')}" for step in branch)


def _describe_step(node: Node) -> str:
    if isinstance(node, Source):
        return f"source({describe_source(node.source)}, {node.length} records)"
    if isinstance(node, CustomMap):
        return f"{describe(node.dataset)} of {node.length} records"
    if isinstance(node, CustomStream):
        return describe(node.dataset)
    if isinstance(node, StreamMix) and node.keys is not None:
        return "mix(a mapping)"  # its components and weights may change: those that stay go on where they were
    given = []
    for field in dataclasses.fields(node):
        value = getattr(node, field.name)
        if not _is_parameter(field, value):
            continue
        text = describe(value)
        if field.default is dataclasses.MISSING or text != describe(field.default):
            given.append(text if callable(value) else f"{field.name}={text}")
    return f"{node.name}({', '.join(given)})"


def _is_parameter(field: "dataclasses.Field[Any]", value: Any) -> bool:
    if not field.init or field.metadata.get("tuning") or isinstance(value, (Node, *_OPTIONS)):
        return False
    return not (isinstance(value, tuple) and any(isinstance(part, Node) for part in value))


def changes(saved: Fingerprint, current: Fingerprint, place: str = "") -> list[str]:
    """Returns in words what became of the `saved` pipeline; nothing if the current one gives the same elements.

    >>> changes([{"step": "range(4)"}, {"step": "shuffle(seed=1)"}], [{"step": "range(4)"}, {"step": "shuffle(seed=2)"}])
    ['shuffle(seed=1) became shuffle(seed=2)']
    """
    said: list[str] = []
    before, after = [step["step"] for step in saved], [step["step"] for step in current]
    for kind, i, i_end, j, j_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            for old, new in zip(saved[i:i_end], current[j:j_end], strict=True):
                said += _inner_changes(old, new, place)
        else:
            said += _replaced(saved[i:i_end], current[j:j_end], place)
    return said


def _inner_changes(old: Step, new: Step, place: str) -> list[str]:
    """What differs between two steps of the same text: code that they call, and their branches."""
    said = []
    if _other_code(old.get("code"), new.get("code")):
        said.append(f"the code of {old['step']} changed{place}")
    before, after = old.get("branches"), new.get("branches")
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before.keys() & after.keys():
            said += changes(before[key], after[key], f"{place} in component {key!r}")
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            said.append(f"{old['step']} had {len(before)} components and has {len(after)}{place}")
        else:
            for number, (left, right) in enumerate(zip(before, after, strict=True)):
                said += changes(left, right, f"{place} in component {number}")
    elif before != after:
        said.append(f"the components of {old['step']} changed{place}")
    return sorted(said)


def _other_code(old: str | None, new: str | None) -> bool:
    if old is None or new is None:
        return False
    versions = {digest.partition(":")[0] for digest in (old + " " + new).split()}
    return old != new and len(versions) == 1


def _replaced(old: Fingerprint, new: Fingerprint, place: str) -> list[str]:
    """Says what became of a stretch of steps: those of the same name are taken for each other."""
    said = []
    waiting = list(new)
    for step in old:
        match = next((other for other in waiting if _name(other) == _name(step)), None)
        if match is None:
            said.append(f"{step['step']} was removed{place}")
        else:
            waiting.remove(match)
            said.append(f"{step['step']} became {match['step']}{place}")
            said += _inner_changes({**step, "code": None}, match, place)
    return said + [f"{step['step']} was added{place}" for step in waiting]


def _name(step: Step) -> str:
    return str(step["step"]).partition("(")[0]
