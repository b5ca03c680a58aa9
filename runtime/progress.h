// A progress bar around a range: for (auto& batch : accelerator.progress(loader, "epoch 1")) ...
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "runtime/core/progress_bar.h"

namespace accel {

// Shows progress on standard error: a bar that is redrawn on a terminal, a line now and then in a
// log file. Not thread-safe.
class ProgressMeter {
 public:
  // `columns`: width of a terminal that standard error leads to although it is a pipe; 0: find out.
  ProgressMeter(std::string label, std::size_t total, int columns);
  // Leaves the cursor on a line of its own, also when the loop was left early.
  ~ProgressMeter();
  ProgressMeter(const ProgressMeter&) = delete;
  ProgressMeter& operator=(const ProgressMeter&) = delete;

  void step();

 private:
  const std::chrono::steady_clock::time_point begun_;
  const int columns_;  // 0: not a terminal.
  ProgressState state_;
  ProgressThrottle throttle_;
  bool open_line_ = false;
};

// The range itself, with a step of the meter at each increment. `Range` has size(), begin() and
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
