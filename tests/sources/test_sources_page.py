"""Every example of docs/sources.md runs, in order, in an empty directory."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "sources.md"


@pytest.mark.filterwarnings("ignore")
def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("pyarrow", "torch", "datasets", "grain.testing"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    text = PAGE.read_text(encoding="utf-8")
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        first_line = text[: block.start()].count("\n") + 2
        exec(compile("\n" * (first_line - 1) + block[1], str(PAGE), "exec"), names)
