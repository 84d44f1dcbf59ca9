# The commands of a fresh machine: `make demo`, `make studio` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
USER := $(VENV)/.user
DEV := $(VENV)/.dev
WARM := $(VENV)/.warm
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
DATA ?= DATA
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal

# Compiled once and kept: without it every process compiles the tests and the program anew.
unexport PYTHONDONTWRITEBYTECODE

PARTS := src/isovist/apps/studio/static/vendor/three.module.js
TSC := node_modules/.bin/tsc

.PHONY: demo studio test quick versions lint types reference pictures docs bench clean

demo: $(USER)
	$(BIN)/isovist demo --figure out/demo.png

studio: $(VENV)/.studio $(PARTS)
	$(BIN)/isovist studio $(MAP) $(LOG)

test: $(WARM) $(PARTS)
	$(PYTEST)

quick: $(WARM) $(PARTS)
	$(PYTEST) -m 'not slow'

# The quick tests on the wheel, under each Python of this machine that pyproject.toml names.
versions: $(DEV) $(PARTS)
	.ci/versions.sh

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python docs/scripts/typed.py
	$(BIN)/lint-imports
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory types; \
	else echo "npm is missing: the types of the page are not checked"; fi

# The modules of the page, by the types in their comments.
types: $(TSC)
	$(TSC) -p jsconfig.json

$(TSC): package.json
	npm install --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error
	touch $@

# What the page needs besides its own modules; without npm it goes without.
$(PARTS): package.json
	rm -rf $(dir $@)
	-$(PYTHON) setup.py parts

# The lists of what is public, that tests compare with the program.
reference: $(DEV)
	$(BIN)/python docs/scripts/reference.py

# The site, in out/site: out/site/index.html can be opened as a file.
docs: $(VENV)/.docs
	$(BIN)/python docs/scripts/pages.py out/pages
	$(BIN)/zensical build --clean --strict

pictures: $(DEV)
	$(BIN)/python docs/scripts/pictures.py
	$(BIN)/python docs/scripts/studio.py

bench: $(DEV)
	$(BIN)/python -m benchmarks --data $(DATA)

# What a user needs, and what a developer needs, in the same place.
$(USER): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[figures]'
	touch $@

$(VENV)/.studio: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[figures,studio,bags,mesh,pointclouds]'
	touch $(USER) $@

# Compiled kernels, so that two workers do not both compile what both need.
$(WARM): $(DEV) $(wildcard src/isovist/compute/*/*.py)
	$(BIN)/isovist warm-up
	touch $@

$(VENV)/.docs: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[docs]'
	touch $@

# What `.ci/run` needs besides, in one go.
$(VENV)/.coverage: $(DEV)
	$(PIP) 'setuptools>=77'
	touch $@

$(DEV): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[dev]'
	touch $(USER) $(VENV)/.studio $@

clean:
	rm -rf $(VENV) out build dist node_modules src/isovist/apps/studio/static/vendor
