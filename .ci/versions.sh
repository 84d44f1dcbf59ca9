#!/usr/bin/env bash
# Install the wheel with what the tests need under each Python that pyproject.toml names and this
# machine has, in a clean environment, and run the quick tests on it; say which were not found.
# PYTHONS names other interpreters, e.g. PYTHONS='/opt/python3.14/bin/python3 python3.13'.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset PYTHONDONTWRITEBYTECODE
named=$(grep -o 'Python :: 3\.[0-9]*' pyproject.toml | sed 's/Python :: /python/')
.venv/bin/python .ci/build.py "$scratch/built" | tail -1
wheel=$(echo "$scratch"/built/isovist-*.whl)
passed=() missing=() failed=()
for python in ${PYTHONS:-$named}; do
  if ! version=$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null); then
    missing+=("$python")
    continue
  fi
  "$python" -m venv "$scratch/$version"
  inside="$scratch/$version/bin/python"
  "$inside" -m pip install --quiet --disable-pip-version-check --no-compile "$wheel[test]"
  "$inside" .ci/warm.py 2
  if "$inside" -m pytest -n 2 --dist worksteal -m 'not slow' -p no:cacheprovider; then
    passed+=("$version")
  else
    failed+=("$version")
  fi
  rm -rf "${scratch:?}/$version"
done
echo "The quick tests pass on Python: ${passed[*]:-none}.  Not found: ${missing[*]:-none}."
if ((${#failed[@]})); then
  echo "They fail on Python ${failed[*]}." >&2
  exit 1
fi
