# Two commands do everything on a fresh machine with Python 3.11: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.made-for-$(shell cksum pyproject.toml | cut -d' ' -f1)

.PHONY: test lint types contracts unit demo bench bench-check docs clean

test: lint types contracts unit docs

$(STAMP): pyproject.toml
	@echo "== environment"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip
	$(BIN)/python -m pip install -q torch==2.13.0 -e . --group dev
	@rm -f $(VENV)/.made-for-*
	@touch $@

lint: $(STAMP)
	@echo "== ruff"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	@echo "== mypy"
	$(BIN)/mypy

contracts: $(STAMP)
	@echo "== import contracts"
	$(BIN)/lint-imports

unit: $(STAMP)
	@echo "== tests and doctests"
	@$(BIN)/python -m compileall -q grain  # workers start sooner, also where Python writes no bytecode by itself
	$(BIN)/python -m pytest -q --durations=10

docs: $(STAMP)
	@echo "== documentation"
	$(BIN)/python -m mkdocs build --strict -d $(VENV)/site

demo: $(STAMP)
	$(BIN)/python examples/demo.py

bench: $(STAMP)
	$(BIN)/python -m benchmarks run $(if $(NAME),$(NAME),--short)

bench-check: $(STAMP)
	$(BIN)/python -m benchmarks check

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
