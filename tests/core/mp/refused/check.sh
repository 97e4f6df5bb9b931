#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh SOURCE COMPILER FILES: what cannot travel to another process does not compile, and the compiler
# says why. Each file here holds one mistake, and in its line "// expect: TEXT" what must be said.
set -u
here=$1/tests/core/mp cxx=$2 core=$1/core failed=0
shift 2
for file in "${@/#/$here/}"; do
  expected=$(sed -n 's|^// expect: ||p' "$file")
  [ -n "$expected" ] || { echo "$file has no line '// expect: TEXT'"; exit 1; }
  # -DMENDED leaves the mistake out: then the rest of the file must compile
  said=$("$cxx" -std=c++20 -fsyntax-only -DMENDED -I"$core" "$file" 2>&1) || {
    printf '%s: without its mistake it does not compile either:\n%s\n' "$file" "$said"
    failed=1
  }
  if said=$("$cxx" -std=c++20 -fsyntax-only -I"$core" "$file" 2>&1); then
    echo "$file: it compiles, and should not"
    failed=1
  elif [[ $said != *"$expected"* ]]; then
    printf '%s: the compiler does not say "%s" but\n%s\n' "$file" "$expected" "$said" | head -n 40
    failed=1
  fi
done
exit $failed
