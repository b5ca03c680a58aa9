// Accelerator::profile(): records the operators of a loop, and writes one Chrome trace per rank and
// cycle. Not thread-safe.
//
//   auto profile = accelerator.profile({.output_trace_dir = "traces",
//                                       .schedule = {{.wait = 1, .warmup = 1, .active = 3}}});
//   for (auto& batch : loader) {
//     ...
//     profile.step();
//   }
#pragma once

#include <memory>

#include "accel/options.h"

namespace accel {

// A scope of LibTorch's profiler. A process can have one at a time. Use it in the thread that
// made it. Operators of other threads are recorded if LibTorch passes its thread-local state to
// these threads, as the backward pass does. A failure to write a trace is logged to standard
// error. Training continues.
class Profile {
 public:
  // `rank` is part of the files' names. If `gpu`, kernels are recorded too. Throws
  // std::invalid_argument for a schedule out of range, and std::logic_error if
  // another Profile exists.
  Profile(ProfileOptions options, int rank, bool gpu);
  // Writes the trace that is being recorded.
  ~Profile();
  Profile(Profile&&) noexcept;
  Profile& operator=(Profile&&) = delete;

  // Ends a step of the loop; the schedule counts steps.
  void step();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace accel
