// The loops over loaders that are open, and their positions, so that gather_for_metrics() knows
// inside a loop whether the last samples of the step are repeated ones.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/core/step_samples.h"

namespace accel::runtime {

// The loops that are open now. The loop that took a step last counts as the innermost
// one. A program may keep an iterator over other data open all the time, such as endless
// data. Not thread-safe.
class RunningLoops {
 public:
  // Overrides even_batches of the loaders whose loops begin now. If nullopt, the setting of each
  // loader is used.
  std::optional<bool> even_batches;

  // Call enter() at each step of a loop, and leave() after its last step. `position` identifies the
  // loop, and must live until leave().
  void enter(const StepSamples* position) {
    leave(position);
    open_.push_back({position, ++steps_});
  }
  void leave(const StepSamples* position) {
    std::erase_if(open_, [&](const Loop& loop) { return loop.position == position; });
  }

  // Returns the innermost loop's position, or null outside of any loop.
  const StepSamples* current() const { return open_.empty() ? nullptr : open_.back().position; }
  // Returns a number that is unique to the innermost loop's current step in this process, or 0
  // outside of any loop.
  std::uint64_t current_step() const { return open_.empty() ? 0 : open_.back().step; }

 private:
  struct Loop {
    const StepSamples* position;
    std::uint64_t step;
  };
  std::vector<Loop> open_;
  std::uint64_t steps_ = 0;
};

}  // namespace accel::runtime
