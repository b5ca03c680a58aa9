# Functions that print the progress of the other tools, which source this file. Each step prints a line, and then how
# long it took. The output of a step is hidden unless the step fails.

# step TEXT: prints TEXT, at the start of a step.
step() {
  step_began=$SECONDS
  printf '== %s\n' "$1"
}

# step_done [TEXT]: prints how the step ended, and how long it took.
step_done() {
  local took=$((SECONDS - step_began)) text
  if ((took < 60)); then text="$took s"; else text="$((took / 60)) min $((took % 60)) s"; fi
  printf '   %s after %s\n' "${1:-done}" "$text"
}

# quietly COMMAND...: runs a command. Prints all of its output if the command fails, and nothing otherwise.
quietly() {
  local log
  log=$(mktemp)
  if "$@" >"$log" 2>&1; then
    rm -f "$log"
  else
    local status=$?
    cat "$log" >&2
    rm -f "$log"
    return "$status"
  fi
}

# run_bazel build|test ARGUMENTS...: runs Bazel and shows whole errors. Progress is a live count on a terminal, and one
# line a minute elsewhere. Actions are cached outside of the checkout too, so that a second clone builds in seconds.
run_bazel() {
  local command=$1 progress=(--curses=no --show_progress_rate_limit=60)
  shift
  [[ -t 2 ]] && progress=(--curses=yes)
  bazel "$command" --disk_cache="$HOME/.cache/accel/bazel" --ui_event_filters=-info,-debug,-warning "${progress[@]}" "$@"
}
