# Sourced by the other tools: what a person reads of them. Each step is a line, and then how long it took; what a step
# prints is kept from the terminal unless it fails.

# step TEXT: says what begins.
step() {
  step_began=$SECONDS
  printf '== %s\n' "$1"
}

# step_done [TEXT]: says how it ended, and after how long.
step_done() {
  local took=$((SECONDS - step_began)) text
  if ((took < 60)); then text="$took s"; else text="$((took / 60)) min $((took % 60)) s"; fi
  printf '   %s after %s\n' "${1:-done}" "$text"
}

# quietly COMMAND...: its output is shown only if it fails, and then all of it.
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

# run_bazel build|test ARGUMENTS...: errors whole, and a count that moves on a terminal; elsewhere a line a minute.
# Actions are cached outside the checkout too, so that a second clone builds in seconds.
run_bazel() {
  local command=$1 progress=(--curses=no --show_progress_rate_limit=60)
  shift
  [[ -t 2 ]] && progress=(--curses=yes)
  bazel "$command" --disk_cache="$HOME/.cache/accel/bazel" --ui_event_filters=-info,-debug,-warning "${progress[@]}" "$@"
}
