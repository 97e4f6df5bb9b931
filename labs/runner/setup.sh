# SPDX-License-Identifier: Apache-2.0
# Sourced by ./lab: what the build needs, what of it is missing, and how to install it.
# shellcheck shell=bash

etc=/etc # the tests of this file look elsewhere

say() { printf 'lab: %s\n' "$*" >&2; }
die() {
  local code=$1
  shift
  clear_progress
  printf 'lab: %s\n' "$@" >&2
  exit "$code"
}

# Headers that prove a package: header, then the Debian package that brings it.
header_packages='
boost/interprocess/offset_ptr.hpp libboost-dev
cblas.h libopenblas-dev
cereal/cereal.hpp libcereal-dev
CLI/CLI.hpp libcli11-dev
fmt/format.h libfmt-dev
nlohmann/json.hpp nlohmann-json3-dev
toml++/toml.h libtomlplusplus-dev
zlib.h zlib1g-dev
catch2/catch_test_macros.hpp catch2
benchmark/benchmark.h libbenchmark-dev
'

# at_least HAVE WANT: compares two version numbers, major.minor.
at_least() {
  local have_major=${1%%.*} have_minor=0 want_major=${2%%.*} want_minor=0
  case $1 in *.*) have_minor=${1#*.} have_minor=${have_minor%%[!0-9]*} ;; esac
  case $2 in *.*) want_minor=${2#*.} ;; esac
  [ "$have_major" -gt "$want_major" ] 2>/dev/null ||
    { [ "$have_major" -eq "$want_major" ] && [ "${have_minor:-0}" -ge "$want_minor" ]; } 2>/dev/null
}

# Sets `cxx` to a compiler that is new enough (CXX if the user set it), or to nothing.
find_compiler() {
  local name
  cxx=
  for name in ${CXX:-g++ g++-12 g++-13 g++-14 g++-15}; do
    command -v "$name" >/dev/null 2>&1 || continue
    if [ -n "${CXX:-}" ] || at_least "$("$name" -dumpfullversion 2>/dev/null)" 12; then
      cxx=$name
      return
    fi
  done
}

# Prints the Debian packages whose headers or libraries the compiler does not find.
missing_libraries() {
  local header package
  while read -r header package; do
    [ -n "$header" ] || continue
    printf '#if !__has_include(<%s>)\nmissing %s\n#endif\n' "$header" "$package"
  done <<<"$header_packages" | "$cxx" -E -P -x c++ - 2>/dev/null |
    while read -r header package; do
      if [ "$header" = missing ]; then printf '%s\n' "${package// /}"; fi
    done
  case $("$cxx" -print-file-name=libopenblas.so) in */*) ;; *) echo libopenblas-dev ;; esac
}

# Prints the Debian packages that are missing, each on a line of its own.
missing_packages() {
  local version package
  find_compiler
  [ -n "$cxx" ] || echo g++
  version=$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*//p')
  at_least "${version:-0}" 3.25 || echo cmake
  command -v ninja >/dev/null 2>&1 || echo ninja-build
  command -v flock >/dev/null 2>&1 || echo util-linux
  if [ -n "$cxx" ]; then
    missing_libraries | sort -u
  else # no compiler to ask: ask the package data base
    printf '%s\n' "$header_packages" | while read -r _ package; do
      [ -n "$package" ] || continue
      dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || echo "$package"
    done
  fi
}

os_field() { sed -n "s/^$1=\"\{0,1\}\([^\"]*\)\"\{0,1\}\$/\1/p" "$etc/os-release" 2>/dev/null; }

# True on the systems whose packages are new enough; prints nothing.
apt_can_help() {
  command -v apt-get >/dev/null 2>&1 || return 1
  local version
  version=$(os_field VERSION_ID)
  case $(os_field ID) in
    debian) [ -z "$version" ] || at_least "$version" 12 ;;
    ubuntu) at_least "${version:-0}" 24.4 || at_least "${version:-0}" 25 ;;
    *) case " $(os_field ID_LIKE) " in *" debian "* | *" ubuntu "*) ;; *) return 1 ;; esac ;;
  esac
}

# backports_source FOLDER CODENAME: prints a source for CODENAME-backports that copies mirror and key
# from the source of CODENAME that is configured in FOLDER (/etc/apt). First line: "sources" or
# "list", the format. Prints nothing and returns 0 when backports are configured already; returns 1
# when there is no source to copy from.
backports_source() {
  local files=() file
  for file in "$1"/sources.list.d/*.sources; do [ -f "$file" ] && files+=("$file"); done
  local found=
  if [ ${#files[@]} -gt 0 ]; then
    found=$(for file in "${files[@]}"; do cat "$file" && echo; done | awk -v name="$2" '
      function flush(   i, n, word, has, back) {
        n = split(suites, word, /[ \t]+/)
        for (i = 1; i <= n; ++i) {
          if (word[i] == name || word[i] == name "/") has = 1
          if (word[i] == name "-backports") back = 1
        }
        if (types ~ /(^|[ \t])deb([ \t]|$)/ && enabled != "no") {
          if (back) { print "configured"; done = 1; exit }
          if (has && !kept) kept = lines
        }
        lines = types = suites = enabled = field = ""
      }
      /^#/ { next }
      /^[ \t]*$/ { flush(); next }
      /^[^ \t]/ { field = tolower(substr($0, 1, index($0, ":") - 1)) }
      { value = $0; sub(/^[^ \t][^:]*:/, "", value) }
      field == "suites" { suites = suites " " value; next }
      field == "types" { types = types " " value; next }
      field == "enabled" { sub(/^[ \t]*/, "", value); enabled = tolower(value); next }
      field == "components" { next }
      { lines = lines $0 "\n" }
      END {
        if (done) exit
        flush()
        if (kept) {
          printf "sources\nTypes: deb\nSuites: %s-backports\nComponents: main\n%s", name, kept
        }
      }')
    case $found in
      configured) return 0 ;;
    esac
  fi
  files=()
  for file in "$1"/sources.list "$1"/sources.list.d/*.list; do [ -f "$file" ] && files+=("$file"); done
  local listed=
  if [ ${#files[@]} -gt 0 ]; then
    listed=$(cat "${files[@]}" | awk -v name="$2" '
      !/^[ \t]*deb[ \t]/ { next }
      {
        sub(/#.*/, ""); options = ""; rest = $0; sub(/^[ \t]*deb[ \t]+/, "", rest)
        if (match(rest, /^\[[^]]*\][ \t]*/)) {
          options = substr(rest, 1, RLENGTH); rest = substr(rest, RLENGTH + 1)
        }
        split(rest, word, /[ \t]+/)
        if (word[2] == name "-backports") { print "configured"; done = 1; exit }
        if (word[2] == name && !kept) kept = "deb " options word[1] " " name "-backports main"
      }
      END { if (!done && kept) printf "list\n%s\n", kept }')
    case $listed in configured) return 0 ;; esac
  fi
  [ -n "$found$listed" ] || return 1
  printf '%s\n' "${found:-$listed}"
}

quote() { printf "'%s'" "${1//\'/\'\\\'\'}"; }

# Sets `command` to the one shell command that installs the packages given.
make_install_command() {
  local source format target line packages=" $* "
  command='export DEBIAN_FRONTEND=noninteractive'
  case "$packages $(os_field ID) $(os_field VERSION_ID) " in
    *" catch2 "*" debian 12 ")
      # Debian 12 itself has Catch2 2, and prefers it unless the release is named
      packages=${packages/ catch2 / catch2/bookworm-backports }
      source=$(backports_source "$etc/apt" bookworm) ||
        die 69 "Catch2 3 is in bookworm-backports, and $etc/apt names no mirror of bookworm" \
          "that this could be copied from; add bookworm-backports to your apt sources"
      if [ -n "$source" ]; then
        format=${source%%$'\n'*}
        target=$etc/apt/sources.list.d/plab-backports.$format
        command+="; printf '%s\\n'"
        while IFS= read -r line; do command+=" $(quote "$line")"; done <<<"${source#*$'\n'}"
        command+=" > $(quote "$target")"
      fi
      ;;
  esac
  command+="; apt-get -o DPkg::Lock::Timeout=300 update"
  command+=" && apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends${packages% }"
}

# Sets `as_root` to the words that make a command run as root without a question later on, or
# returns 1. Asks for a password only on a terminal.
become_root() {
  as_root=()
  [ "$(id -u)" -eq 0 ] && return 0
  command -v sudo >/dev/null 2>&1 || return 1
  as_root=(sudo -n)
  sudo -n true 2>/dev/null && return 0
  [ -t 0 ] && [ -t 2 ] || return 1
  say "sudo asks for your password to install packages (Ctrl-C: not now)"
  sudo -v
}

# Installs what is missing, or explains and leaves with 69. Touches no network when all is there.
install_missing() {
  local packages log command as_root
  mapfile -t packages < <(missing_packages)
  [ ${#packages[@]} -gt 0 ] || return 0
  if ! apt_can_help; then
    die 69 "missing (by the names of Debian's packages): ${packages[*]}" \
      "needed: g++ 12, CMake 3.25, ninja, Catch2 3; the others in any version of the last years" \
      "this system is not Debian 12, Ubuntu 24.04 or newer, so install them by hand, then try again"
  fi
  make_install_command "${packages[@]}"
  if ! become_root; then
    die 69 "missing: ${packages[*]}" "ask someone with root rights to run this one command:" \
      "" "sudo sh -c $(quote "$command")"
  fi
  log=$(mktemp "${TMPDIR:-/tmp}/plab-setup.XXXXXX") || exit 69
  say "installing with apt: ${packages[*]}"
  if ! run_logged "installing" "$log" ${as_root[@]+"${as_root[@]}"} sh -c "$command"; then
    clear_progress
    grep -E '^(E|W|Err)[: ]' "$log" | tail -n 5 >&2
    die 69 "apt could not install: ${packages[*]}" "its full output: $log" \
      "without a network? everything else works offline once these are installed"
  fi
  rm -f "$log"
  clear_progress
  hash -r
  mapfile -t packages < <(missing_packages)
  [ ${#packages[@]} -eq 0 ] || die 69 "apt installed, but not found or too old: ${packages[*]}"
}
