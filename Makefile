# The two commands of a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
USER := $(VENV)/.user
DEV := $(VENV)/.dev
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
DATA ?= DATA
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal

.PHONY: demo test quick lint bench clean

demo: $(USER)
	$(BIN)/isovist demo --figure out/demo.png

test: $(DEV)
	$(PYTEST)

quick: $(DEV)
	$(PYTEST) -m 'not slow'

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(DEV)
	$(BIN)/python -m benchmarks --data $(DATA)

# What a user needs, and what a developer needs, in the same place.
$(USER): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[figures]'
	touch $@

$(DEV): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[dev]'
	touch $(USER) $@

clean:
	rm -rf $(VENV) out build dist
