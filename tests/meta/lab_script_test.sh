#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lab_script_test.sh ROOT: ./lab with a compiler, CMake, ninja, apt and sudo that are faked, in a
# folder with spaces and letters beyond ASCII. Each fake notes its calls; the tests look at the notes.
set -u
root=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0
unset PLAB_BUILD CXX CI COLUMNS

check() { # check WHAT COMMAND...: the command must succeed
  local what=$1
  shift
  if "$@"; then return 0; fi
  printf 'FAILED: %s\n' "$what"
  sed 's/^/    out | /' "$work/out" 2>/dev/null
  failures=$((failures + 1))
}
is() { [ "$1" = "$2" ] || { printf '    got "%s", wanted "%s"\n' "$1" "$2" && false; }; }
says() { grep -qF -- "$1" "$work/out"; }
silent_on() { ! grep -qF -- "$1" "$work/out"; }
count() { grep -c -- "^$1" "$work/calls"; }

fake() { # fake NAME: the body comes on standard input
  { printf '#!/bin/bash\necho "%s $*" >>"%s/calls"\n' "$1" "$work" && cat; } >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}

# A new tree, and fakes that find everything installed.
new_tree() {
  rm -rf "${work:?}"/*
  tree="$work/a täglich ☃ path"
  mkdir -p "$work/bin" "$work/etc/apt/sources.list.d" "$tree/labs/runner" "$tree/core" "$tree/tests"
  : >"$work/calls"
  : >"$work/missing"
  cp "$root/lab" "$tree/"
  cp "$root"/labs/runner/*.sh "$tree/labs/runner/"
  printf 'etc=%q\n' "$work/etc" >>"$tree/labs/runner/setup.sh"
  : >"$tree/CMakeLists.txt"
  : >"$tree/core/a.cpp"
  printf 'ID=debian\nVERSION_ID="12"\n' >"$work/etc/os-release"
  local tool
  for tool in bash sh awk basename cat chmod cp cut dirname env find flock grep head ln ls mkdir mktemp mv nproc \
    readlink rm sed sleep sort tail touch tr true; do
    ln -s "$(type -P $tool)" "$work/bin/$tool"
  done
  fake g++ <<'F'
work=$(dirname "$(dirname "$0")")
case $* in
  -dumpfullversion) echo 12.2.0 ;;
  -print-file-name=*) echo /usr/lib/libopenblas.so ;;
  *-E*) cat >/dev/null; sed 's/^/missing /' "$work/missing" ;;
esac
F
  fake cmake <<'F'
if [ "$1" = --version ]; then echo "cmake version ${FAKE_CMAKE:-3.25.1}"; exit; fi
while [ $# -gt 0 ]; do case $1 in -S) source=$2 ;; -B) build=$2 ;; esac; shift; done
mkdir -p "$build" && touch "$build/build.ninja"
printf '%s\n' "CMAKE_HOME_DIRECTORY:INTERNAL=$source" "CMAKE_CACHEFILE_DIR:INTERNAL=$build" \
  "CMAKE_CXX_COMPILER:FILEPATH=$(command -v g++)" CMAKE_PROJECT_NAME:STATIC=plab >"$build/CMakeCache.txt"
F
  fake ninja <<'F'
printf '#!/bin/bash\nprintf "tool"; printf " <%%s>" "$@"; echo; exit ${FAKE_RC:-0}\n' >"$2/lab"
chmod +x "$2/lab"
F
  fake id <<<'echo 0'
  fake apt-get <<<': >"$(dirname "$(dirname "$0")")/missing"'
}

lab() { # runs ./lab with only the fakes, keeps its output and exit code
  PATH=$work/bin TMPDIR=$work "$tree/lab" "$@" >"$work/out" 2>&1 </dev/null
  rc=$?
}

new_tree
lab check "two words" 3
check "the first call hands its words to the tool" says "tool <check> <two words> <3>"
check "and builds" is "$(count ninja)" 1
check "and returns 0" is $rc 0
check "an editor finds the flags of the compiler" is "$(readlink "$tree/compile_commands.json")" \
  "$tree/build/compile_commands.json"
calls=$(wc -l <"$work/calls")
FAKE_RC=7 lab
check "the tool's exit code is the script's" is $rc 7
check "a second call builds nothing" is "$(wc -l <"$work/calls")" "$calls"
sleep 0.05
touch "$tree/core/a.cpp"
lab
check "a changed source is built" is "$(count ninja)" 2
rm "$tree/compile_commands.json"
echo mine >"$tree/compile_commands.json"
: >"$tree/labs/new.cpp"
lab
check "a new source is built" is "$(count ninja)" 3
check "a file of the user's is left alone" is "$(cat "$tree/compile_commands.json")" mine
sleep 0.05
rm "$tree/labs/new.cpp"
lab
check "a source that went is noticed" is "$(count ninja)" 4
mkdir -p "$tree/labs/04_x"
sleep 0.05
touch "$tree/labs"
lab
sleep 0.05
: >"$tree/labs/04_x/lab.cpp"
built=$(count ninja)
lab check 4
check "a saved lab.cpp is left to the check" is "$(count ninja)" "$built"
lab selftest --quick
check "selftest builds everything" grep -q '^ninja -C [^-]* -j [0-9]*$' "$work/calls"
ln -s "$tree/lab" "$work/link"
(cd / && PATH=$work/bin "$work/link" demo) >"$work/out" 2>&1
check "it works by a link from another folder" says "tool <demo>"
calls=$(count cmake)
mv "$tree" "$work/moved"
tree=$work/moved
lab demo
check "a moved tree is configured again" [ "$(count cmake)" -gt "$calls" ]
check "and runs" says "tool <demo>"
PLAB_BUILD=$work/elsewhere/x lab demo
check "PLAB_BUILD is where it builds" [ -x "$work/elsewhere/x/lab" ]
mkdir "$work/full" && touch "$work/full/precious"
PLAB_BUILD=$work/full lab demo
check "a folder that holds something else is refused" is $rc 64
check "and left alone" is "$(ls "$work/full")" precious
: >"$work/calls"
lab setup
check "setup installs nothing when nothing is missing" is "$(count apt-get)" 0
check "and builds nothing" is "$(count ninja)" 0

new_tree
echo libfmt-dev >"$work/missing"
fake id <<<'echo 1000'
lab demo
check "without rights it exits 69" is $rc 69
check "and prints the one command" says "sudo sh -c '"
check "with the package" says "--no-install-recommends libfmt-dev"
check "and does not touch apt" is "$(count apt-get)" 0
fake sudo <<<'[ "$1" = -n ] && shift; exec "$@"'
lab demo
check "with sudo it installs" is "$rc $(count 'apt-get.*install')" "0 1"
check "and asks the network once" is "$(count 'apt-get.*update')" 1

new_tree
printf 'libfmt-dev\ncatch2\n' >"$work/missing"
printf 'Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm bookworm-updates\n%s\n' \
  $'Components: main\nSigned-By: /keys/a b.gpg' >"$work/etc/apt/sources.list.d/debian.sources"
lab demo
added=$work/etc/apt/sources.list.d/plab-backports.sources
check "as root it installs at once" is "$rc $(count 'apt-get.*install -y.* catch2/bookworm-backports libfmt-dev$')" "0 1"
check "with backports from the machine's own mirror" grep -qx 'URIs: http://mirror.example/debian' "$added"
check "of the right suite" grep -qx 'Suites: bookworm-backports' "$added"
check "with the same key" grep -qx 'Signed-By: /keys/a b.gpg' "$added"
rm "$added" "$work/etc/apt/sources.list.d/debian.sources"
echo catch2 >"$work/missing"
touch "$tree/core/a.cpp"
lab demo
check "without any mirror it says so" is $rc 69
echo 'deb [arch=amd64 signed-by=/k.gpg] http://m.example/d/ bookworm main' >"$work/etc/apt/sources.list"
lab demo
check "a mirror in the one-line form will do" grep -qx \
  'deb \[arch=amd64 signed-by=/k.gpg\] http://m.example/d/ bookworm-backports main' \
  "$work/etc/apt/sources.list.d/plab-backports.list"

new_tree
echo libfmt-dev >"$work/missing"
printf 'ID=fedora\nVERSION_ID=40\n' >"$work/etc/os-release"
lab demo
check "another system is told what is missing" is "$rc $(count apt-get)" "69 0"
check "by name" says "libfmt-dev"
printf 'ID=debian\nVERSION_ID="11"\n' >"$work/etc/os-release"
lab demo
check "so is one that is too old" is "$rc $(count apt-get)" "69 0"
printf 'ID=ubuntu\nVERSION_ID="24.04"\n' >"$work/etc/os-release"
fake apt-get <<<'exit 100'
lab demo
check "apt that fails is an explained 69" is $rc 69
check "which names the log" says "its full output"
: >"$work/missing"
FAKE_CMAKE=3.22.1 lab demo
check "an old CMake counts as missing" is $rc 69

new_tree
fake ninja <<<'printf "[1/2] x\ncore/a.cpp:3:5: error: first\n 3 | bad\nerror: second\n"; exit 1'
lab demo
check "an error in plab is 70" is $rc 70
check "and the first error is shown" says "core/a.cpp:3:5: error: first"
fake ninja <<<'printf "[1/2] x\n/x y/labs/01_first/lab.cpp:3:5: error: first\n"; exit 1'
lab demo
check "an error in the learner's file is 2" is $rc 2
fake ninja <<<'kill -KILL $$'
lab demo
check "a build that is killed is 70" is $rc 70
check "and said as such" says "signal 9 from outside"
fake cmake <<<'[ "$1" = --version ] && echo "cmake version 3.30.0" && exit; echo "CMake Error: no"; exit 1'
rm -rf "$tree/build"
lab demo
check "CMake that fails is 70" is $rc 70
check "and its error is shown" says "CMake Error: no"

new_tree
fake ninja <<F
sleep 61 & echo \$! >"$work/sleeper"; wait
F
set -m # so that the script gets Ctrl-C, which a shell in the background ignores
PATH=$work/bin "$tree/lab" demo >"$work/out" 2>&1 </dev/null &
set +m
until [ -s "$work/sleeper" ]; do sleep 0.05; done
kill -INT $!
wait $!
check "Ctrl-C during a build exits 130" is $? 130
check "and ends the build's children" eval '! kill -0 "$(cat "$work/sleeper")" 2>/dev/null'

new_tree
cat "$work/bin/ninja" >"$work/real"
fake ninja <<F
sleep 0.5
$(sed 1,2d "$work/real")
F
PATH=$work/bin "$tree/lab" one >"$work/out1" 2>&1 </dev/null &
first=$!
PATH=$work/bin "$tree/lab" two >"$work/out2" 2>&1 </dev/null
second=$?
wait $first
check "of two calls at once both succeed" is "$? $second" "0 0"
check "and run" grep -q 'tool <one>' "$work/out1"
check "both" grep -q 'tool <two>' "$work/out2"
check "but one builds" is "$(count ninja)" 1

# The parts of setup.sh that read apt's files.
. "$root/labs/runner/setup.sh"
apt=$work/apt
sources() { rm -rf "$apt"; mkdir -p "$apt/sources.list.d"; cat >"$apt/sources.list.d/x.sources"; }
sources <<'F'
# a comment
Enabled: no
Types: deb
URIs: http://off.example/
Suites: bookworm

Types: deb-src
URIs: http://source.example/
Suites: bookworm

types: deb
URIs: http://a.example/
 http://b.example/
Suites:
 bookworm
 bookworm-updates
Components: main contrib
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc
F
check "fields over several lines are copied, other stanzas are not" is \
  "$(backports_source "$apt" bookworm)" "sources
Types: deb
Suites: bookworm-backports
Components: main
URIs: http://a.example/
 http://b.example/
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc"
printf 'Types: deb\nURIs: http://a.example/\nSuites: bookworm-backports\n' | sources
check "backports that are there are not added again" is "$(backports_source "$apt" bookworm)" ""
rm -rf "$apt" && mkdir "$apt" && printf '# deb http://x.example bookworm main\n' >"$apt/sources.list"
check "a commented line is no mirror" eval '! backports_source "$apt" bookworm'
echo 'deb http://x.example bookworm-backports main' >>"$apt/sources.list"
check "backports in the one-line form count" backports_source "$apt" bookworm
check "versions are compared as numbers" eval 'at_least 3.30.1 3.25 && at_least 14 12 &&
  at_least 24.04 24.4 && ! at_least 3.9 3.25 && ! at_least 11.9 12 && ! at_least "" 12 &&
  ! at_least 22.04 24.4'

if [ $failures -gt 0 ]; then
  echo "$failures checks failed"
  exit 1
fi
echo "all checks passed"
