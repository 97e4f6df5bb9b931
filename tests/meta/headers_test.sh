#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# headers_test.sh SOURCE COMPILER: every header of core compiles alone, and twice. (The build itself
# would not notice: its sources see precompiled standard headers.) CUDA's headers are those of the
# simulated device.
set -u
cd "$1/core" || exit 1
export CXX=$2
alone() {
  printf '#include "%s"\n#include "%s"\n' "$1" "$1" |
    "$CXX" -std=c++20 -fsyntax-only -Wall -Wextra -Werror -I. -Iplab/device/sim/include -x c++ - || {
    echo "$1 does not compile alone: it uses something that it does not include (see above)"
    return 1
  }
}
export -f alone
headers=$(find plab -name '*.h' | sort)
[ -n "$headers" ] || { echo "no header found in $PWD/plab"; exit 1; }
# xargs exits with 123 when any of them failed
printf '%s\n' "$headers" | xargs -P "$(nproc)" -I{} bash -c 'alone "$1"' _ {} || exit 1
echo "$(printf '%s\n' "$headers" | wc -l) headers compile alone"
