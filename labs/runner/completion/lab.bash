# SPDX-License-Identifier: Apache-2.0
# Tab completion for bash:  source labs/runner/completion/lab.bash
# It asks the lab tool that is built, and never builds; options come from the verb's own --help.
_plab_lab() {
  local entry=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} root tool
  root=$(cd -P "$(dirname "${entry/#\~/$HOME}")" 2>/dev/null && pwd) || return
  tool=${PLAB_BUILD:-$root/build}/lab
  COMPREPLY=()
  [ -x "$tool" ] || return
  local found
  if [[ $word == -* ]]; then
    found=$("$tool" "${COMP_WORDS[1]}" --help 2>/dev/null | grep -o -- '--[a-z][a-z-]*' | sort -u)
  else
    found=$("$tool" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  fi
  mapfile -t COMPREPLY < <(compgen -W "$found" -- "$word")
}
complete -o default -F _plab_lab ./lab lab
