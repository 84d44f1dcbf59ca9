#!/usr/bin/env bash
# Install the wheel with what the tests need under each Python that pyproject.toml names and this
# machine has, in a clean environment, and run the quick tests on it; say which were not found.
#   .ci/versions.sh FOLDER     FOLDER holds what `make release` built
# PYTHONS names other interpreters, e.g. PYTHONS='/opt/python3.14/bin/python3 python3.13'; of pyenv
# those that are installed will do, chosen or not.
set -euo pipefail
cd "$(dirname "$0")/.."
wheel=$(echo "$1"/isovist-*.whl)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset PYTHONDONTWRITEBYTECODE
pip="-m pip install --quiet --disable-pip-version-check --no-compile"
named=$(grep -o 'Python :: 3\.[0-9]*' pyproject.toml | sed 's/Python :: /python/')
passed=() missing=() failed=()

# The interpreter of that name: as a command, or one of pyenv.
found() {
  if "$1" -c '' 2>/dev/null; then
    echo "$1"
  else
    PYENV_VERSION=$(pyenv latest "${1#python}") pyenv which "$1"
  fi 2>/dev/null
}

for name in ${PYTHONS:-$named}; do
  if ! python=$(found "$name"); then
    missing+=("$name")
    continue
  fi
  version=$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')
  "$python" -m venv "$scratch/$version"
  inside="$scratch/$version/bin/python"
  "$inside" $pip "pip>=25.1"
  "$inside" $pip "$wheel[all]" --group test
  "$inside" -m isovist warm-up
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
