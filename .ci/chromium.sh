#!/usr/bin/env bash
# A browser for the tests of the studio, where one may be installed; they are skipped without.
set -uo pipefail
for name in chromium google-chrome; do
  command -v "$name" >/dev/null && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 && exit 0
  apt-get update -qq >/dev/null 2>&1
  apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 && exit 0
fi
echo "no Chromium could be installed: the tests in a browser are skipped"
