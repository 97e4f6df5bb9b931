# SPDX-License-Identifier: Apache-2.0
# Tab completion for zsh, after compinit:  source labs/runner/completion/lab.zsh
# It asks the lab tool that is built, and never builds; options come from the verb's own --help.
_plab_lab() {
  local root tool
  root=$(cd -P "$(dirname "${(e)words[1]/#\~/$HOME}")" 2>/dev/null && pwd) || return 1
  tool=${PLAB_BUILD:-$root/build}/lab
  [[ -x $tool ]] || return 1
  local -a found
  if [[ ${words[CURRENT]} == -* ]]; then
    found=(${(f)"$("$tool" "${words[2]}" --help 2>/dev/null | grep -o -- '--[a-z][a-z-]*' | sort -u)"})
  else
    found=(${(f)"$("$tool" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  fi
  (( $#found )) && compadd -a found || _files
}
compdef _plab_lab ./lab lab
