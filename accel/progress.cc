#include "accel/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace accel {
namespace {

int find_columns(int columns) {
  if (columns > 0) return columns;
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

ProgressMeter::ProgressMeter(std::string label, std::optional<std::size_t> total, int columns)
    : begun_(std::chrono::steady_clock::now()),
      columns_(find_columns(columns)),
      state_{.label = std::move(label), .total = total},
      throttle_(columns_ > 0) {}

ProgressMeter::~ProgressMeter() {
  if (!state_.total) show();
  if (open_line_) std::fputc('\n', stderr);
}

void ProgressMeter::step() {
  ++state_.done;
  state_.elapsed = std::chrono::steady_clock::now() - begun_;
  if (throttle_.due(state_)) show();
}

void ProgressMeter::show() {
  if (columns_ == 0) {
    std::fputs((runtime::render_line(state_) + "\n").c_str(), stderr);
    return;
  }
  // Spaces overwrite the rest of a longer bar. The last column is left free so that
  // no terminal wraps.
  std::string bar = runtime::render_bar(state_, columns_ - 1);
  bar.resize(static_cast<std::size_t>(columns_ - 1), ' ');
  std::fputs(("\r" + bar).c_str(), stderr);
  open_line_ = true;
}

}  // namespace accel
