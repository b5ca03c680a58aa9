// The text of a progress bar, and the times at which it is printed. Pure: the elapsed time
// is a value.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace accel::runtime {

struct ProgressState {
  std::string label;
  std::size_t done = 0;
  std::optional<std::size_t> total = {};  // nullopt if it is not known.
  std::chrono::duration<double> elapsed{};
};

// Returns one line without a newline, at most `columns` wide: label, percentage, bar, counts,
// elapsed and remaining time, and rate. If the line is too narrow for a bar, it has only label,
// percentage and counts. Without a total: label, count, elapsed time and rate.
std::string render_bar(const ProgressState& state, int columns);

// Returns one line for a log file: label, percentage, counts and rate. Without a total: label,
// count, elapsed time and rate.
std::string render_line(const ProgressState& state);

// Decides at each step whether to print. Prints at most ten times a second on a terminal, and at
// most every 30 s into a log file. Always prints once a known total is reached.
class ProgressThrottle {
 public:
  explicit ProgressThrottle(bool terminal);
  // Returns true if the bar should be printed now, and then restarts the interval.
  bool due(const ProgressState& state);

 private:
  const std::chrono::duration<double> interval_;
  std::chrono::duration<double> next_;
};

}  // namespace accel::runtime
