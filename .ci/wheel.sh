#!/usr/bin/env bash
# Build the wheel and the source archive, twice, to the same bytes; install the wheel without extras
# in a clean environment, and use it outside the checkout.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
pip="-m pip --quiet --disable-pip-version-check"
make --no-print-directory .venv/.coverage
.venv/bin/python .ci/build.py "$scratch/built" | tail -1
mv "$scratch"/built/isovist-*.whl "$scratch"
"${PYTHON:-python3}" -m venv "$scratch/venv"
"$scratch/venv/bin/python" $pip install --no-compile "$scratch"/isovist-*.whl
"$scratch/venv/bin/isovist" warm-up
.venv/bin/python .ci/check_wheel.py "$scratch/venv/bin"
"$scratch/venv/bin/python" $pip install --no-compile "$(echo "$scratch"/isovist-*.whl)[studio]"
if command -v npm >/dev/null; then
  .venv/bin/python .ci/check_studio.py "$scratch/venv/bin" "$scratch"/isovist-*.whl
fi
