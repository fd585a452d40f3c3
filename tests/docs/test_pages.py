"""Every block of code in the documentation runs and prints what the page says."""

import importlib
import re
from pathlib import Path

import pytest

from . import pages

NEEDS = {
    "checkpoints.md": ("jax", "orbax.checkpoint"),
    "jax.md": ("jax", "orbax.checkpoint"),
    "keras.md": ("jax", "keras"),
    "sources.md": ("pyarrow", "torch", "datasets"),
    "pytorch.md": ("torch",),
}


@pytest.mark.filterwarnings("default")  # of other packages; what a page says about warnings it shows itself
@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: page.name)
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "jax")  # what is asked for here must not load another one
    for package in NEEDS.get(page.name, ()):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    pages.run(page)


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_no_page_installs_the_other_library_of_that_name() -> None:
    for page in pages.PAGES:
        assert "grain[" not in page.read_text(encoding="utf-8"), f"{page.name} names an extra of PyPI's grain"


def test_names_of_the_library_in_the_text_exist() -> None:
    """A name such as `grain.sources.X` in a page is one that can be imported."""
    for page in pages.PAGES:
        for name in set(re.findall(r"\bgrain(?:\.[A-Za-z]\w*)+", page.read_text(encoding="utf-8"))):
            assert _exists(name), f"{page.name} speaks of {name}"


def _exists(name: str) -> bool:
    first, *rest = name.split(".")
    value = importlib.import_module(first)
    for part in rest:
        try:
            value = getattr(value, part)
        except (AttributeError, ImportError):
            try:
                value = importlib.import_module(f"{value.__name__}.{part}")
            except (ImportError, AttributeError):
                return False
    return True
