# SPDX-License-Identifier: Apache-2.0
# Sourced by ./lab: configure and build with a progress line, a log, and a lock.
# shellcheck shell=bash disable=SC2154

child=
shown=-9

# On a terminal one line that is rewritten; elsewhere a plain line every few seconds.
progress() {
  if [ -t 2 ]; then
    local columns=${COLUMNS:-80}
    printf '\r\033[K%s' "${1:0:$((columns - 1))}" >&2
  elif [ $((SECONDS - shown)) -ge 2 ]; then
    shown=$SECONDS
    printf '%s\n' "$1" >&2
  fi
}
clear_progress() { if [ -t 2 ]; then printf '\r\033[K' >&2; fi; }

# Ends the child with all of its own children; a second signal is not needed.
end_child() {
  [ -n "$child" ] || return 0
  kill -TERM -- "-$child" 2>/dev/null
  local i
  for ((i = 0; i < 50; ++i)); do
    kill -0 -- "-$child" 2>/dev/null || return 0
    sleep 0.1
  done
  kill -KILL -- "-$child" 2>/dev/null
}
on_signal() {
  trap '' INT TERM HUP
  end_child
  clear_progress
  say "interrupted; what is built already stays"
  exit "$1"
}
set_traps() {
  trap 'on_signal 130' INT
  trap 'on_signal 143' TERM
  trap 'on_signal 129' HUP
}

# run_logged LABEL LOG COMMAND...: runs it in a process group of its own, without the lock's
# descriptor, with its output in LOG, and shows where it is.
run_logged() {
  local label=$1 log=$2 start=$SECONDS pause=0.02 step
  shift 2
  set -m
  "$@" >>"$log" 2>&1 </dev/null 9>&- &
  child=$!
  set +m
  while kill -0 "$child" 2>/dev/null; do
    step=$(tail -n 1 "$log" 2>/dev/null | tr -d '\r' | cut -c 1-200)
    case $step in # "[3/98] Building ... object core/x/CMakeFiles/y.dir/z.cpp.o": number and file
      \[*\]\ *) step="${step%%\]*}] ${step##*[/ ]}" ;;
      ninja:*) step= ;;
    esac
    progress "lab: $label ($((SECONDS - start)) s) $step"
    sleep $pause
    pause=0.2
  done
  wait "$child"
  local code=$?
  child=
  return $code
}

# Makes the build folder, and refuses one that holds something else.
prepare_build_folder() {
  if [ -e "$build" ] && [ ! -d "$build" ]; then die 64 "PLAB_BUILD=$build is not a folder"; fi
  if [ -d "$build" ] && [ ! -d "$build/.lab" ] && [ -n "$(ls -A "$build")" ] &&
    ! grep -qs '^CMAKE_PROJECT_NAME:STATIC=plab$' "$build/CMakeCache.txt" &&
    [ ! -d "$build/.lab" ]; then # asked again: another call may just have made it
    die 64 "the folder $build holds something else; set PLAB_BUILD to a new folder"
  fi
  if ! mkdir -p "$build/.lab" 2>/dev/null || [ ! -w "$build/.lab" ]; then
    die 64 "cannot write to the build folder $build" \
      "set PLAB_BUILD to a folder that you can write to, for example:" \
      "  PLAB_BUILD=\$HOME/plab-build $0"
  fi
  build=$(cd -P "$build" && pwd)
}

# One ./lab builds at a time in one folder; the next waits, then finds its work done.
take_lock() {
  exec 9>>"$build/.lab/lock" || exit 70
  command -v flock >/dev/null 2>&1 || return 0 # install_missing brings it
  until flock -n 9; do
    progress "lab: another ./lab builds in $build; waiting for it"
    sleep 0.2
  done
}
drop_lock() { exec 9>&-; }

cache_value() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt" 2>/dev/null; }

# True when the folder is configured for this tree, at this place, with tools that still exist.
is_configured() {
  [ -f "$build/build.ninja" ] && [ "$(cache_value CMAKE_HOME_DIRECTORY)" = "$root" ] &&
    [ "$(cache_value CMAKE_CACHEFILE_DIR)" = "$build" ] &&
    command -v "$(cache_value CMAKE_CXX_COMPILER)" >/dev/null 2>&1 || return 1
  local launcher
  launcher=$(cache_value CMAKE_CXX_COMPILER_LAUNCHER)
  [ -z "$launcher" ] || command -v "$launcher" >/dev/null 2>&1
}

# True when ccache is there and can write its cache.
ccache_works() {
  local folder
  command -v ccache >/dev/null 2>&1 && folder=$(ccache --get-config=cache_dir 2>/dev/null) &&
    mkdir -p "$folder" 2>/dev/null && [ -w "$folder" ]
}

configure() {
  local options=(-G Ninja -DCMAKE_BUILD_TYPE=Release -DPLAB_UNITY=ON
    "-DCMAKE_CXX_COMPILER=$(command -v "$cxx")")
  # Only the project's own checks make a warning fatal: a newer compiler of a learner may have new ones.
  if [ -z "${CI:-}" ]; then options+=(-DPLAB_WERROR=OFF); fi
  if ccache_works; then options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  rm -f "$build"/.lab/*.stamp
  if ! run_logged "configuring" "$log" cmake --fresh -S "$root" -B "$build" "${options[@]}"; then
    clear_progress
    sed -n '/^CMake Error/,$p' "$log" | head -n 12 >&2
    die 70 "CMake could not configure plab; full log: $log"
  fi
}

# One compiler per core, but no more than memory lasts for (about 1 GiB each).
count_jobs() {
  local cores memory limit
  cores=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
  memory=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo 2>/dev/null)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null)
  case ${limit:-max} in max | *[!0-9]*) ;; *)
    if [ $((limit >> 30)) -lt "${memory:-1}" ]; then memory=$((limit >> 30)); fi ;;
  esac
  if [ "${memory:-$cores}" -lt "$cores" ]; then cores=$memory; fi
  if [ "$cores" -lt 1 ]; then cores=1; fi
  echo "$cores"
}

# explain_failure CODE: shows the first error of the build and leaves: 2 when it is in a file that the
# learner edits.
explain_failure() {
  local first
  clear_progress
  if [ "$1" -gt 128 ]; then
    die 70 "signal $(($1 - 128)) from outside ended the build; try again: what is built stays" \
      "full log: $log"
  fi
  first=$(grep -n -m 1 -E '(^|[: ])(fatal )?error: |undefined reference to|^CMake Error|^FAILED: ' \
    "$log" | cut -d : -f 1)
  local error
  error=$(grep -n -m 1 -E '(^|[: ])(fatal )?error: |undefined reference to|^CMake Error' "$log" |
    cut -d : -f 1)
  first=${error:-${first:-1}}
  sed -n "$first,$((first + 9))p" "$log" | sed '/^\[[0-9]*\/[0-9]*\] /,$d' >&2
  if grep -q 'Killed signal' "$log"; then
    die 70 "the compiler was killed, most often for want of memory" "full log: $log"
  fi
  if sed -n "${first}p" "$log" | grep -q -E '(^|/)labs/[0-9]+_[^/]*/lab\.cpp[:(]'; then
    die 2 "your lab does not compile yet: this is the first error; full log: $log"
  fi
  die 70 "plab does not compile: this is the first error, and not in a file of yours" \
    "full log: $log"
}

# So that an editor knows the flags of every file, labs/NN_id/lab.cpp among them. A link that leads
# somewhere stays; a tree that cannot be written goes without.
link_compile_commands() {
  if [ ! -e "$root/compile_commands.json" ]; then
    ln -sfn "$build/compile_commands.json" "$root/compile_commands.json" 2>/dev/null
  fi
  return 0
}

build_goal() {
  local log=$build/.lab/build.log began=$build/.lab/began targets=()
  : >"$log"
  printf '%s\n%s\n' "$root" "$build" >"$began.$goal"
  if ! is_configured; then
    find_compiler
    say "building plab in $build (the first time takes a few minutes)"
    configure
  fi
  case $goal in all) ;; lab) targets=(lab) ;; *) targets=(lab "$goal") ;; esac
  # pch_defines,time_macros: without them ccache does not take a precompiled header
  NINJA_STATUS='[%f/%t] ' CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros} \
    run_logged "building" "$log" ninja -C "$build" -j "$(count_jobs)" ${targets[@]+"${targets[@]}"} ||
    explain_failure $?
  clear_progress
  link_compile_commands
  mv -f "$began.$goal" "$build/.lab/$goal.stamp" # as old as the start: later edits are newer
}
