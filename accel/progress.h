// A progress bar for a loop: for (auto& batch : accelerator.progress(loader, "epoch 1")) ...
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runtime/core/progress_bar.h"

namespace accel {

// Shows progress on standard error: on a terminal a bar that is redrawn, in a log file a line every
// 30 s. Not thread-safe.
class ProgressMeter {
 public:
  // `columns` is the width of the terminal to which a pipe forwards standard error. If it is 0, the
  // meter checks whether standard error itself is a terminal, and takes that width. `total` is the
  // number of steps. It is std::nullopt if the number is unknown.
  ProgressMeter(std::string label, std::optional<std::size_t> total, int columns);
  // Moves the cursor to a new line, even if the loop was left early. If there is no total, shows
  // the final count.
  ~ProgressMeter();
  ProgressMeter(const ProgressMeter&) = delete;
  ProgressMeter& operator=(const ProgressMeter&) = delete;

  void step();

 private:
  void show();

  const std::chrono::steady_clock::time_point begun_;
  const int columns_;  // 0 if standard error is not a terminal.
  runtime::ProgressState state_;
  runtime::ProgressThrottle throttle_;
  bool open_line_ = false;
};

// Returns the number of items of a range; std::nullopt if it has no size.
template <typename Range>
std::optional<std::size_t> length_of(const Range& range) {
  if constexpr (requires { range.known_size(); }) {
    return range.known_size();
  } else if constexpr (requires { range.size(); }) {
    return range.size();
  } else {
    return std::nullopt;
  }
}

// Iterates over a range and steps the meter at each increment. The range has begin() and end(), and
// must outlive this object.
template <typename Range>
class ProgressRange {
 public:
  // If `meter` is null, no progress is shown.
  ProgressRange(Range& range, std::unique_ptr<ProgressMeter> meter)
      : range_(range), meter_(std::move(meter)) {}

  using Inner = decltype(std::declval<Range&>().begin());

  class Iterator {
   public:
    Iterator(Inner inner, ProgressMeter* meter) : inner_(std::move(inner)), meter_(meter) {}
    decltype(auto) operator*() const { return *inner_; }
    Iterator& operator++() {
      ++inner_;
      if (meter_ != nullptr) meter_->step();
      return *this;
    }
    template <typename End>
    friend bool operator==(const Iterator& it, const End& end) {
      return it.inner_ == end;
    }

   private:
    Inner inner_;
    ProgressMeter* meter_;
  };

  Iterator begin() { return Iterator(range_.begin(), meter_.get()); }
  auto end() { return range_.end(); }

 private:
  Range& range_;
  std::unique_ptr<ProgressMeter> meter_;
};

}  // namespace accel
