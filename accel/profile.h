// Accelerator::profile(): what a loop spends its time on, as a Chrome trace per rank.
#pragma once

#include <memory>

#include "accel/options.h"

namespace accel {

// A scope of LibTorch's profiler, of which a process has one at a time. Used in the thread that
// made it; the operators of other threads are recorded where LibTorch passes its thread-local state
// on, as the backward pass does. A trace that cannot be written is said on standard error and does
// not end training.
class Profile {
 public:
  // `rank` names the files; `gpu`: record kernels too. Throws std::invalid_argument for a schedule
  // out of range, std::logic_error if another one lives.
  Profile(ProfileOptions options, int rank, bool gpu);
  // Writes what is being recorded.
  ~Profile();
  Profile(Profile&&) noexcept;
  Profile& operator=(Profile&&) = delete;

  // The end of a step of the loop, which the schedule counts.
  void step();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace accel
