#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# completion_test.sh SOURCE BUILD: what the Tab key gives, in the shells themselves.
set -eu
source=$1 build=$2
export PLAB_BUILD=$build
cd "$source"
failed=0
same() {  # what, wanted, got
  [ "$2" = "$3" ] && return
  printf '%s\n  wanted  %s\n  got     %s\n' "$1" "$2" "$3" >&2
  failed=1
}
in_bash() {
  bash -c '. labs/runner/completion/lab.bash
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _plab_lab; echo "${COMPREPLY[*]}"' bash "$@"
}
same "verbs" "check" "$(in_bash ./lab che)"
same "labs" "01 03" "$(in_bash ./lab check 0 | tr ' ' '\n' | grep -E '^0[13]$' | xargs)"
same "a mistake" "serial" "$(in_bash ./lab break 01 ser)"
same "options" "--seed" "$(in_bash ./lab check --see)"
same "from another folder" "check" "$(cd / && bash -c '. "$1"/labs/runner/completion/lab.bash
  COMP_WORDS=("$1/lab" che) COMP_CWORD=1; _plab_lab; echo "${COMPREPLY[*]}"' bash "$source")"
if command -v zsh >/dev/null; then
  # compadd is zsh's own; here it shows what it is given.
  in_zsh() {
    zsh -fc 'compdef() { :; }; compadd() { shift 1; print -r -- "${(@P)1}"; }; _files() { print files; }
      . labs/runner/completion/lab.zsh; words=("$@") CURRENT=$#; _plab_lab' zsh "$@"
  }
  same "zsh: verbs" "check" "$(in_zsh ./lab che)"
  same "zsh: a mistake" "serial" "$(in_zsh ./lab break 01 ser)"
  same "zsh: options" "--seed" "$(in_zsh ./lab check --seed | tr ' ' '\n' | grep -x -- --seed)"
  same "zsh: nothing to offer" "files" "$(in_zsh ./lab bench x)"
elif [ -n "${CI:-}" ]; then
  echo "zsh is missing: .ci/run installs it" >&2
  failed=1
fi
exit $failed
