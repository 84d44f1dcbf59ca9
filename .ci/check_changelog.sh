#!/usr/bin/env bash
# When src/ has changed since the last tag or the merge base, CHANGELOG.md has changed too.
# Without either (a shallow clone) there is nothing to compare with, and nothing is checked.
set -euo pipefail
cd "$(dirname "$0")/.."
base=$(git merge-base HEAD origin/main 2>/dev/null || true)
if [ -z "$base" ] || [ "$base" = "$(git rev-parse HEAD 2>/dev/null)" ]; then
  base=$(git describe --tags --abbrev=0 2>/dev/null || true)
fi
if [ -z "$base" ]; then
  echo "changelog: no tag and no merge base, not checked"
  exit 0
fi
if git diff --quiet "$base" -- src; then
  echo "changelog: src is as it was at $base"
  exit 0
fi
if git diff --quiet "$base" -- CHANGELOG.md; then
  echo "changelog: src has changed since $base; say so under [Unreleased] in CHANGELOG.md"
  exit 1
fi
# An entry, not only the heading: a line with a dash before the next version.
if ! sed -n '/^## \[Unreleased\]/,/^## \[[0-9]/p' CHANGELOG.md | grep -q '^- '; then
  echo "changelog: [Unreleased] in CHANGELOG.md has no entry"
  exit 1
fi
echo "changelog: has its entry"
