"""The code blocks of the documentation: which pages there are, and how their blocks are run and checked."""

import contextlib
import doctest
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

_BLOCK = re.compile(
    r"^(?P<indent> *)```python\n(?P<code>.*?)^ *```\n(?:\n*^ *```text\n(?P<output>.*?)^ *```)?",
    re.DOTALL | re.MULTILINE,
)


class Block(NamedTuple):
    """A block of code, where it begins, and what it prints if the page says so."""

    code: str
    line: int
    output: str | None


def blocks(page: Path) -> Iterator[Block]:
    """Yields the Python blocks of a page; a block of text that follows one is what it prints."""
    text = page.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(text):
        line = text[: match.start("code")].count("\n")
        indent = len(match["indent"])
        code = "".join(row[indent:] or "\n" for row in match["code"].splitlines(keepends=True))
        yield Block(code, line, match["output"])


def run(page: Path) -> int:
    """Runs the blocks of a page in order in one namespace; returns how many there are."""
    names: dict[str, object] = {"__name__": "__main__"}
    count = 0
    for count, block in enumerate(blocks(page), 1):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * block.line + block.code, str(page), "exec"), names)
        if block.output is not None:
            check(block.output, printed.getvalue(), f"{page.name}, line {block.line + 1}")
    return count


def check(expected: str, printed: str, where: str) -> None:
    """Fails unless the text was printed; an ellipsis stands for anything."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    if not doctest.OutputChecker().check_output(expected, printed, flags):
        raise AssertionError(f"{where} printed\n{printed}\nbut the page says\n{expected}")
