"""The shape of a parity case, and the text table that most of them are written in."""

import ast
import dataclasses


@dataclasses.dataclass(frozen=True)
class Case:
    """A pipeline to run: statements, then an expression, then how many elements to compare."""

    name: str
    expr: str
    setup: str = ""
    take: int = 40


# Short names that keep the tables readable; `expand` spells them out, because a case may use public names only.
SHORT = {
    "MAP.": "grain.MapDataset.",
    "ITER.": "grain.IterDataset.",
    "X.": "grain.experimental.",
    "TR.": "grain.transforms.",
    "READ0": "grain.ReadOptions(0, 0)",
}


def expand(text: str) -> str:
    """Replaces the short names by the public ones."""
    for short, full in SHORT.items():
        text = text.replace(short, full)
    return text


def needed(setup: str, expr: str) -> str:
    """The statements of `setup` that the expression uses, directly or through others."""
    lines = setup.splitlines()
    blocks = []
    for node in ast.parse(setup).body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])  # a decorator comes before
        blocks.append((node, "\n".join(lines[first - 1 : node.end_lineno])))
    used = {n.id for n in ast.walk(ast.parse(expr)) if isinstance(n, ast.Name)}
    kept: set[int] = set()
    while True:
        new = [i for i, (node, _) in enumerate(blocks) if i not in kept and defined(node) & used]
        if not new:
            return "\n".join(text for i, (_, text) in enumerate(blocks) if i in kept)
        kept.update(new)
        for i in new:
            used |= {n.id for n in ast.walk(blocks[i][0]) if isinstance(n, ast.Name)}


def defined(node: ast.stmt) -> set[str]:
    """The names that a statement binds."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Import(names=names):
            return {a.name for a in names}
        case ast.Assign(targets=targets):
            return {t.id for t in targets if isinstance(t, ast.Name)}
    raise ValueError(f"a setup holds functions, classes, imports and assignments only, got {ast.dump(node)[:80]}")


def table(prefix: str, text: str, setup: str = "", take: int = 40) -> list[Case]:
    """One case a line: `name :: expression`."""
    cases = []
    for line in text.strip().splitlines():
        if line.strip():
            name, expr = line.split("::", 1)
            cases.append(Case(f"{prefix}-{name.strip()}", expand(expr.strip()), expand(setup), take))
    return cases
