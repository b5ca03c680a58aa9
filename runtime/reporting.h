#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "accel/profile.h"
#include "runtime/tracking/tracker_set.h"

namespace accel {

// What a run tells about itself: the part of Accelerator that has the trackers and the profiler.
class Reporting {
 public:
  // Starts the trackers of AcceleratorOptions::log_with: those that write files do so in
  // logging_dir/project_name, where logging_dir is ProjectConfiguration's, else its project_dir. A
  // run that was started before is ended. Throws std::invalid_argument if there is no such folder;
  // errors of the disk are said on standard error and do not end training (see TrackerSet). These
  // three do nothing but on the main process.
  void init_trackers(const std::string& project_name, const TrackedValues& config = {});

  //   accelerator.log({{"loss", loss.item<double>()}, {"epoch", epoch}}, step);
  //
  // Throws std::logic_error before init_trackers(), if there are trackers.
  void log(const TrackedValues& values, std::optional<std::int64_t> step = std::nullopt);

  // For what only this tracker can do. Throws std::invalid_argument for a name that log_with lacks.
  Tracker& get_tracker(const std::string& name) const { return trackers_->get(name); }

  // Records what the operators in a scope take, on this process:
  //
  //   auto profile = accelerator.profile({.output_trace_dir = "traces",
  //                                       .schedule = {{.wait = 1, .warmup = 1, .active = 3}}});
  //   for (auto& batch : loader) {
  //     ...
  //     profile.step();
  //   }
  //
  // Errors: see Profile.
  [[nodiscard]] Profile profile(ProfileOptions options = {}) const;

 protected:
  Reporting(const std::vector<TrackerChoice>& log_with, std::string logging_dir, int rank,
            bool gpu);
  void finish_trackers() { trackers_->finish(); }

 private:
  std::shared_ptr<TrackerSet> trackers_;
  std::string logging_dir_;
  int rank_;
  bool gpu_;
};

}  // namespace accel
