// The scripts that connect shells to `accel completion candidates`. They contain no command of
// accel, so a new command needs no change here.
#pragma once

namespace accel::cli {

// Bash splits words at = and :, so a candidate may contain only the part after the last of
// these characters. The script splits the line again, because a flag and its value are one
// word for accel.
inline constexpr char kBashScript[] = R"SCRIPT(# bash completion of accel
_accel() {
  local line=${COMP_LINE:0:COMP_POINT} candidate
  local -a words=()
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  local current=${words[-1]}
  local before=${current%"${current##*[=:]}"}
  COMPREPLY=()
  while IFS=$'\t' read -r candidate _; do
    case $candidate in
      :files) compopt -o default 2>/dev/null ;;
      :folders) compopt -o dirnames 2>/dev/null ;;
      "$current"*) COMPREPLY+=("${candidate#"$before"}") ;;
    esac
  done < <("${words[0]}" completion candidates "${words[@]:1}" 2>/dev/null)
}
complete -F _accel accel
)SCRIPT";

inline constexpr char kZshScript[] = R"SCRIPT(#compdef accel
_accel() {
  local line
  local -a described
  for line in "${(@f)$("${words[1]}" completion candidates "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      '') ;;
      :files) _files ;;
      :folders) _files -/ ;;
      *) described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
    esac
  done
  (( ${#described} )) && _describe accel described
}
if [[ ${funcstack[1]} == _accel ]]; then _accel "$@"; else compdef _accel accel; fi
)SCRIPT";

inline constexpr char kFishScript[] = R"SCRIPT(# fish completion of accel
function __accel_candidates
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  for line in (command $words[1] completion candidates $words[2..-1] "$current" 2>/dev/null)
    switch $line
      case ':files'
        __fish_complete_path "$current"
      case ':folders'
        __fish_complete_directories "$current"
      case '*'
        echo $line
    end
  end
end
complete -c accel -f -a '(__accel_candidates)'
)SCRIPT";

}  // namespace accel::cli
