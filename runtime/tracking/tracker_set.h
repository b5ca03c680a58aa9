// Isolates the training loop from its trackers. Each Accelerator has one set.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "accel/tracker.h"

namespace accel::runtime {

// The trackers of a run. Exceptions of a tracker, of any type, never reach the caller. If a
// tracker throws, it loses the values of that call, and later calls are still made. The first
// failure of each tracker is logged to standard error, and finish() logs how many calls failed
// (docs/decisions/0020). Not thread-safe.
class TrackerSet {
 public:
  // `writes` is true on the process that reports. On other processes no method writes anything.
  // Throws std::invalid_argument for an unknown name, or if two trackers have the same name.
  TrackerSet(const std::vector<TrackerChoice>& choices, bool writes);

  // Begins a run with files in `folder`. Ends a run that has begun before. Throws
  // std::invalid_argument, and changes nothing, if a tracker needs a folder and `folder` is empty.
  void start(const std::filesystem::path& folder, const TrackedValues& config);
  // Throws std::logic_error if there are trackers and no run has begun.
  void log(const TrackedValues& values, std::optional<std::int64_t> step);
  void finish();

  // Returns the tracker called `name`. Throws std::invalid_argument, which lists the names that
  // exist, if no tracker has this name, and std::logic_error as log() does.
  Tracker& get(const std::string& name) const;

 private:
  struct Entry {
    TrackerChoice choice;
    std::string name;
    std::shared_ptr<Tracker> tracker;  // Null while there is no run.
    std::size_t failures = 0;
  };
  static void note_failure(Entry& entry, const char* what);
  template <typename Call>
  void each(const Call& call);

  const bool writes_;
  std::vector<Entry> trackers_;
};

}  // namespace accel::runtime
