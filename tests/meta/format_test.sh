#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# format_test.sh ROOT: every C++ file is as clang-format 14 writes it. Exit 4 (skipped) where that
# version is not installed: other versions differ in details.
set -u
for tool in clang-format-14 clang-format; do
  version=$("$tool" --version 2>/dev/null) || continue
  case $version in *"version 14."*) ;; *) continue ;; esac
  if ! printf 'int  a ;\n' | "$tool" --dry-run --Werror 2>/dev/null; then
    cd "$1" || exit 1
    find core labs tests -name build -prune -o \( -name '*.h' -o -name '*.cpp' \) -print0 |
      xargs -0 "$tool" --dry-run --Werror || exit 1
    exit 0
  fi
  echo "$tool does not find a line that is badly formatted"
  exit 1
done
echo "clang-format 14 is not installed"
exit 4
