// Text of a progress bar, and when to print it. Pure: the time is a value.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace accel {

struct ProgressState {
  std::string label;
  std::size_t done = 0;
  std::optional<std::size_t> total = {};  // None: not known.
  std::chrono::duration<double> elapsed{};
};

// One line without line end, at most `columns` wide: label, bar, counts, time used and left, rate.
// Without a total: label, count, time used, rate.
std::string render_bar(const ProgressState& state, int columns);

// One line for a log file: label, counts, percentage, rate.
std::string render_line(const ProgressState& state);

// Decides at each step whether something is printed: ten times a second on a terminal, every 30 s
// in a log file, and always at an end that is known.
class ProgressThrottle {
 public:
  explicit ProgressThrottle(bool terminal);
  bool due(const ProgressState& state);

 private:
  const std::chrono::duration<double> interval_;
  std::chrono::duration<double> next_;
};

}  // namespace accel
