// Accelerator::profile(): what a loop spends its time on, as a Chrome trace per rank.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/core/profile_schedule.h"

namespace accel {

struct ProfileOptions {
  // Where profile_RANK.json goes, and profile_RANK_CYCLE.json of the cycles after the first.
  std::string output_trace_dir = ".";
  // Without one, everything from here to the end of the scope is recorded.
  std::optional<ProfileSchedule> schedule = std::nullopt;
  // Called with each trace once it is complete.
  std::function<void(const std::string& path)> on_trace_ready = nullptr;
  bool record_shapes = false;   // Of the operators' inputs.
  bool profile_memory = false;  // Each allocation.
  bool with_flops = false;      // Estimates for matrix products and convolutions.
};

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
