// A progress bar around a range: for (auto& batch : accelerator.progress(loader, "epoch 1")) ...
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runtime/core/progress_bar.h"

namespace accel {

// Shows progress on standard error: a bar that is redrawn on a terminal, a line now and then in a
// log file. Not thread-safe.
class ProgressMeter {
 public:
  // `columns`: width of a terminal that standard error leads to although it is a pipe; 0: find out.
  ProgressMeter(std::string label, std::optional<std::size_t> total, int columns);
  // Leaves the cursor on a line of its own, also when the loop was left early. Without a total,
  // this is the end that is shown.
  ~ProgressMeter();
  ProgressMeter(const ProgressMeter&) = delete;
  ProgressMeter& operator=(const ProgressMeter&) = delete;

  void step();

 private:
  void show();

  const std::chrono::steady_clock::time_point begun_;
  const int columns_;  // 0: not a terminal.
  ProgressState state_;
  ProgressThrottle throttle_;
  bool open_line_ = false;
};

// How many items a range has, as far as it says that.
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

// The range itself, with a step of the meter at each increment. `Range` has begin() and
// end(), and outlives this.
template <typename Range>
class ProgressRange {
 public:
  // Without a meter, the range alone.
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
