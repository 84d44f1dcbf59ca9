#!/usr/bin/env bash
# Install the wheel without extras in a clean environment, and use it outside the checkout.
#   .ci/wheel.sh FOLDER     FOLDER holds what `make release` built
# Kernels that the checkout has compiled are taken along: the same sources give the same code.
set -euo pipefail
cd "$(dirname "$0")/.."
wheel=$(echo "$1"/isovist-*.whl)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python="$scratch/venv/bin/python"
pip="-m pip --quiet --disable-pip-version-check"
"${PYTHON:-python3}" -m venv "$scratch/venv"
"$python" $pip install --no-compile "$wheel"
site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
(cd src && find isovist -name '*.nb[ci]' | tar -cf - -T -) | tar -C "$site" -xmf -
"$scratch/venv/bin/isovist" warm-up
.venv/bin/python .ci/check_wheel.py "$scratch/venv/bin"
"$python" $pip install --no-compile "$wheel[studio]"
.venv/bin/python .ci/check_studio.py "$scratch/venv/bin" "$wheel"
