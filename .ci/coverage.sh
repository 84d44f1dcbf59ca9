#!/usr/bin/env bash
# Lines and branches of kernels and product rooms that a few fast tests reach, kernels uncompiled.
set -euo pipefail
cd "$(dirname "$0")/.."
FLOOR=${FLOOR:-0}
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[coverage]'
export NUMBA_DISABLE_JIT=1 COVERAGE_FILE=out/.coverage
mkdir -p out
.venv/bin/python -m coverage run -m pytest -m 'not slow' $(sed 's/#.*//' .ci/coverage.txt)
rooms='src/isovist/kernels/*,src/isovist/atlas/*,src/isovist/localization/*,src/isovist/tracking/*,src/isovist/maps/*,src/isovist/sensing/*,src/isovist/roses/*'
.venv/bin/python -m coverage report --include "$rooms" --fail-under "$FLOOR"
