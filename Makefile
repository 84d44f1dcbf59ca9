# All tasks.  .ci/run and .github/workflows/test.yml call these targets, and so do you.
# On a fresh machine: `make demo`, `make studio` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
USER := $(VENV)/.user
DEV := $(VENV)/.dev
WARM := $(VENV)/.warm
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
DATA ?= DATA
FUZZ_MINUTES ?= 0.3
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal --durations=20

# Compiled once and kept: without it every process compiles the tests and the program anew.
unexport PYTHONDONTWRITEBYTECODE

PAGE := src/isovist/apps/studio/static/vendor/three.module.js
TSC := node_modules/.bin/tsc

.PHONY: demo studio test quick lint types changelog docs fuzz wheel check nightly coverage versions \
	page release reference results pictures bench clean

## For users

demo: $(USER)
	$(BIN)/isovist demo --figure out/demo.png

studio: $(VENV)/.studio
	@$(PYTHON) release/page_parts.py || true
	$(BIN)/isovist studio $(MAP) $(LOG)

## What must pass before a change lands: `make test check`

# All tests but those of `make nightly`.
test: $(WARM)
	@$(PYTHON) release/page_parts.py || true
	$(PYTEST) -m 'not nightly'

# The tests that catch most, in a minute once the kernels are compiled.
quick: $(WARM)
	@$(PYTHON) release/page_parts.py || true
	$(PYTEST) -m 'not slow'

check: lint changelog docs fuzz wheel

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

changelog:
	.ci/check_changelog.sh

# The site, in out/site: out/site/index.html can be opened as a file.
docs: $(DEV)
	$(BIN)/python docs/scripts/pages.py out/pages
	$(BIN)/zensical build --clean --strict

# Random damage to every input; `make fuzz FUZZ_MINUTES=10` for longer.
fuzz: $(WARM)
	$(BIN)/python -m benchmarks.fuzz --minutes $(FUZZ_MINUTES) --count 100000

# The wheel in a clean environment, outside the checkout.
wheel: release $(WARM)
	.ci/wheel.sh dist

## What runs each night: slow, and seldom the only one to fail

nightly: $(WARM) coverage versions
	$(PYTEST) -m nightly
	$(MAKE) fuzz FUZZ_MINUTES=10

# Coverage of the kernels, as plain Python.
coverage: $(DEV)
	.ci/coverage.sh

# The quick tests on the wheel, under each Python of this machine that pyproject.toml names.
versions: release
	.ci/versions.sh dist

## Release

# The libraries of the studio's page, by npm, checked by SHA-256.
page:
	@$(PYTHON) release/page_parts.py

# The wheel and the source archive in dist.  TAG=v0.2.0 must be the version.
release: $(DEV) page
	@version=v$$($(BIN)/hatchling version); [ "$${TAG:-$$version}" = "$$version" ] || \
	{ echo "The tag $$TAG is not the version $$version of isovist.__version__."; exit 1; }
	rm -rf dist
	$(BIN)/python release/build.py dist

## What is generated

# The lists of what is public, that tests compare with the program.
reference: $(DEV)
	$(BIN)/python docs/scripts/reference.py

# The pages of measured results, from the files in benchmarks/results.
results: $(DEV)
	$(BIN)/python -m benchmarks.result_pages

pictures: $(DEV)
	$(BIN)/python docs/scripts/pictures.py
	$(BIN)/python docs/scripts/studio.py

bench: $(DEV)
	$(BIN)/python -m benchmarks --data $(DATA)

## Environments and tools

# What a user needs, and what a developer needs, in the same place.
$(USER): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[figures]'
	touch $@

$(VENV)/.studio: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[figures,studio,bags,mesh,pointclouds]'
	touch $(USER) $@

$(DEV): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) 'pip>=25.1' # earlier ones do not know --group
	$(PIP) -e '.[all]' --group dev
	touch $(USER) $(VENV)/.studio $@

# Compiled kernels, so that two workers do not both compile what both need.
$(WARM): $(DEV) $(wildcard src/isovist/compute/*/*.py)
	$(BIN)/isovist warm-up
	touch $@

$(TSC): package.json
	npm install --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error
	touch $@

clean:
	rm -rf $(VENV) out build dist node_modules $(dir $(PAGE))
