#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/check.sh OUTPUT: builds the documentation below OUTPUT; fails on any warning of Doxygen.
# Exit 4 (skipped) where Doxygen is not installed.
set -u
output=${1:?usage: docs/check.sh OUTPUT}
command -v doxygen >/dev/null 2>&1 || {
  echo "doxygen is not installed"
  exit 4
}
mkdir -p "$output" || exit 1
output=$(cd "$output" && pwd) || exit 1
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
# Doxygen cannot follow a link to a page whose path holds a space or a letter beyond ASCII: there it
# reads a copy.
case $PWD in
  *[!A-Za-z0-9_./-]*)
    copy=$(mktemp -d) || exit 1
    trap 'rm -rf "$copy"' EXIT
    cp -R README.md core docs "$copy" && cd "$copy" || exit 1
    ;;
esac
{
  cat docs/Doxyfile
  printf 'OUTPUT_DIRECTORY = "%s"\n' "$output"
} | doxygen - || exit 1
[ -s "$output/html/index.html" ] || {
  echo "doxygen wrote no index.html"
  exit 1
}
echo "documentation: $output/html/index.html"
