// Where the loaders that are being iterated stand, so that a metric gathered inside a loop knows
// whether its last samples are repeated ones.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/core/step_samples.h"

namespace accel {

// The loops that are open now. The one that took a step last is the innermost: an iterator over
// other data may be kept from step to step. Not thread-safe.
class RunningLoops {
 public:
  // What holds for loops that begin now instead of their loader's even_batches; none: the loader's.
  std::optional<bool> even_batches;

  // At each step of a loop, and after its last one.
  void enter(const StepSamples* position) {
    leave(position);
    open_.push_back({position, ++steps_});
  }
  void leave(const StepSamples* position) {
    std::erase_if(open_, [&](const Loop& loop) { return loop.position == position; });
  }

  // The innermost loop's position, or null outside of any loop.
  const StepSamples* current() const { return open_.empty() ? nullptr : open_.back().position; }
  // A number that no other step of a loop of this process has; 0 outside of any.
  std::uint64_t current_step() const { return open_.empty() ? 0 : open_.back().step; }

 private:
  struct Loop {
    const StepSamples* position;
    std::uint64_t step;
  };
  std::vector<Loop> open_;
  std::uint64_t steps_ = 0;
};

}  // namespace accel
