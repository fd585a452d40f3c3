"""The quick start works wherever a newcomer tries it: in a notebook, a script, a REPL, and without JAX."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from . import pages

PAGE = pages.ROOT / "docs" / "quickstart.md"
BLOCKS = list(pages.blocks(PAGE))
PROGRAM = "\n".join(block.code for block in BLOCKS)
PRINTED = "".join(block.output or "" for block in BLOCKS)


def run(arguments: list[str], directory: Path, stdin: str = "") -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=directory, input=stdin, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def test_the_quick_start_is_there() -> None:
    assert len(BLOCKS) >= 5
    assert "mp_prefetch" in PROGRAM


@pytest.mark.filterwarnings("default")
def test_in_a_notebook(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(block.code) for block in BLOCKS])
    client = nbclient.NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    for cell, block in zip(notebook.cells, BLOCKS, strict=True):
        printed = "".join(output.text for output in cell.outputs if output.get("name") == "stdout")
        if block.output is not None:
            pages.check(block.output, printed, f"cell {block.line}")


def test_in_a_script_without_a_main_guard(tmp_path: Path) -> None:
    (tmp_path / "quick.py").write_text(PROGRAM, encoding="utf-8")
    pages.check(PRINTED, run(["quick.py"], tmp_path), "the script")


def test_in_a_repl(tmp_path: Path) -> None:
    typed = []
    for statement in ast.parse(PROGRAM).body:
        first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
        rows = PROGRAM.splitlines()[first - 1 : statement.end_lineno]
        typed += [*(row for row in rows if row.strip()), ""]
    printed = run(["-i", "-q"], tmp_path, "\n".join([*typed, ""]))
    for line in PRINTED.splitlines():
        if "..." not in line:
            assert line.strip() in printed


def test_where_there_is_no_jax(tmp_path: Path) -> None:
    hide = "import sys; sys.modules.update(dict.fromkeys(['jax', 'flax', 'orbax', 'torch', 'pyarrow']))"
    (tmp_path / "quick.py").write_text(f"{hide}\n{PROGRAM}", encoding="utf-8")
    pages.check(PRINTED, run(["quick.py"], tmp_path), "the script")
