#include "runtime/core/progress_bar.h"

#include <algorithm>
#include <cstdio>

namespace accel::runtime {
namespace {

constexpr std::size_t kMinBar = 5;
constexpr std::size_t kMaxBar = 40;

std::string two_digits(long number) { return (number < 10 ? "0" : "") + std::to_string(number); }

// Returns the time as MM:SS or H:MM:SS, at most 99:59:59, so that the width stays bounded.
std::string clock_text(double seconds) {
  const long total = static_cast<long>(std::clamp(seconds, 0.0, 359999.0));
  const std::string rest = ":" + two_digits(total % 60);
  if (total < 3600) return two_digits(total / 60) + rest;
  return std::to_string(total / 3600) + ":" + two_digits(total / 60 % 60) + rest;
}

double rate(const ProgressState& state) {
  return state.elapsed.count() > 0 ? static_cast<double>(state.done) / state.elapsed.count() : 0;
}

std::string rate_text(const ProgressState& state) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f/s", rate(state));
  return text;
}

double fraction(const ProgressState& state) {
  const double total = static_cast<double>(*state.total);
  return total == 0 ? 1.0 : std::min(1.0, static_cast<double>(state.done) / total);
}

std::string label(const ProgressState& state) {
  return state.label.empty() ? "" : state.label + " ";
}

std::string head(const ProgressState& state) {
  char percent[8];
  std::snprintf(percent, sizeof percent, "%3d%%", static_cast<int>(fraction(state) * 100));
  return label(state) + percent;
}

std::string counts(const ProgressState& state) {
  return std::to_string(state.done) + "/" + std::to_string(*state.total);
}

std::string render_count(const ProgressState& state) {
  return label(state) + std::to_string(state.done) + " " + clock_text(state.elapsed.count()) + " " +
         rate_text(state);
}

}  // namespace

std::string render_bar(const ProgressState& state, int columns) {
  const std::size_t width = static_cast<std::size_t>(std::max(1, columns));
  if (!state.total) return render_count(state).substr(0, width);
  const double speed = rate(state);
  const double left =
      speed > 0 ? static_cast<double>(*state.total - std::min(state.done, *state.total)) / speed
                : 0;
  const std::string before = head(state) + " [";
  const std::string after = "] " + counts(state) + " " + clock_text(state.elapsed.count()) + "<" +
                            (state.done == 0 ? "--:--" : clock_text(left)) + " " + rate_text(state);
  if (before.size() + after.size() + kMinBar > width) {
    return (head(state) + " " + counts(state)).substr(0, width);
  }
  const std::size_t bar = std::min(kMaxBar, width - before.size() - after.size());
  const std::size_t filled = static_cast<std::size_t>(fraction(state) * static_cast<double>(bar));
  return before + std::string(filled, '#') + std::string(bar - filled, '.') + after;
}

std::string render_line(const ProgressState& state) {
  if (!state.total) return render_count(state);
  return head(state) + " " + counts(state) + " " + rate_text(state);
}

ProgressThrottle::ProgressThrottle(bool terminal)
    : interval_(terminal ? 0.1 : 30.0), next_(terminal ? 0.0 : 30.0) {}

bool ProgressThrottle::due(const ProgressState& state) {
  if (state.total && state.done >= *state.total) return true;
  if (state.elapsed < next_) return false;
  next_ = state.elapsed + interval_;
  return true;
}

}  // namespace accel::runtime
