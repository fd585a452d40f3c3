"""Regenerates more.json: run with the python of an environment that has the reference, grain 0.2.18, and jax.

    python tests/parity/record.py

With jax, because the reference handles nested elements differently without it (None is then a leaf, and a mapping of
datasets is mixed in another order), and parity.json was recorded with it. A case that gives two different results in
two runs is refused: only what is deterministic can be compared.
"""

import dataclasses
import functools
import itertools
import json
import pathlib
import sys
import warnings

import cases_errors
import cases_iter
import cases_loader
import cases_map
import cases_misc
import cases_pack
import cases_stack
import cases_state
import jax  # noqa: F401
import numpy as np
from case import Case, expand, needed

import grain
import grain.constants
import grain.experimental
import grain.python
import grain.samplers
import grain.sharding
import grain.sources
import grain.transforms

HERE = pathlib.Path(__file__).parent
MODULES = (cases_map, cases_stack, cases_iter, cases_pack, cases_loader, cases_misc, cases_state, cases_errors)


def plain(x: object) -> object:
    """An element as JSON, keeping dtype and shape (the same rules as check.py)."""
    if isinstance(x, np.ndarray):
        return {"array": str(x.dtype), "shape": list(x.shape), "data": plain(x.tolist())}
    if isinstance(x, np.generic):
        return {"scalar": str(x.dtype), "data": plain(x.item())}
    if isinstance(x, dict):
        return {"dict": {str(k): plain(v) for k, v in x.items()}}
    if isinstance(x, tuple):
        return {"tuple": [plain(v) for v in x]}
    if isinstance(x, list):
        return [plain(v) for v in x]
    if isinstance(x, bytes):
        return {"bytes": x.hex()}
    if isinstance(x, complex):
        return {"complex": [x.real, x.imag]}
    if x is None or isinstance(x, bool | int | float | str):
        return x
    return {"object": type(x).__name__}


def run(case: Case, messages: list[str]) -> dict[str, object]:
    """What the importable grain gives for a case; an error's message goes to `messages`, not into the result."""
    scope = {"grain": grain, "np": np, "functools": functools, "itertools": itertools}
    try:
        exec(case.setup, scope)
        value = eval(case.expr, scope)
        if isinstance(value, list | tuple | int | str):
            return {"value": plain(value)}
        out: dict[str, object] = {"len": len(value)} if isinstance(value, grain.MapDataset) else {}
        it = iter(value)
        out["elements"] = [plain(x) for x in itertools.islice(it, case.take)]
        if hasattr(it, "close"):
            it.close()
        return out
    except Exception as e:
        messages.append(f"{type(e).__name__}: {e}")
        return {"error": type(e).__name__}


def record(case: Case, messages: list[str]) -> dict[str, object]:
    """A case with its expectation, as in parity.json."""
    first, second = (json.dumps(run(case, messages)) for _ in range(2))
    if first != second:
        raise ValueError(f"{case.name} is not deterministic: {first[:200]} and {second[:200]}")
    return {"name": case.name, "setup": case.setup, "expr": case.expr, "take": case.take, "expect": json.loads(first)}


def spelled(case: Case) -> Case:
    """The case with public names only."""
    return dataclasses.replace(case, expr=expand(case.expr), setup=expand(case.setup))


def main() -> None:
    written = [c for module in MODULES for c in module.CASES]
    written = [dataclasses.replace(c, setup=needed(c.setup, c.expr)) for c in map(spelled, written)]
    given = {(c["setup"], c["expr"]) for c in json.loads((HERE / "parity.json").read_text())}
    cases = [c for c in written if (c.setup, c.expr) not in given]
    names = [c.name for c in cases]
    if doubles := {n for n in names if names.count(n) > 1}:
        raise ValueError(f"names used twice: {sorted(doubles)}")
    recorded = []
    for case in cases:
        messages: list[str] = []
        recorded.append(record(case, messages))
        if "--show" in sys.argv:
            print(case.name, "|", case.expr[:300], "|", messages[:1] or json.dumps(recorded[-1]["expect"])[:400])
    lines = ",\n".join(json.dumps(r) for r in recorded)
    (HERE / "more.json").write_text(f"[\n{lines}\n]\n")
    print(f"{len(recorded)} cases")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
