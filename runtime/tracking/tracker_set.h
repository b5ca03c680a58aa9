#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "accel/tracker.h"

namespace accel::runtime {

// The trackers of a run. What one of them throws never reaches the caller: the first failure of
// each is said on standard error, the values of that call are lost to it, later calls are tried
// again, and finish() says how many were lost. Not thread-safe.
class TrackerSet {
 public:
  // `writes`: whether this is the process that reports. On the others every method does nothing.
  // Throws std::invalid_argument for a name that is none of the above, or for twice the same.
  TrackerSet(const std::vector<TrackerChoice>& choices, bool writes);

  // Begins a run whose files are in `folder`. Throws std::invalid_argument if they need one and it
  // is empty.
  void start(const std::filesystem::path& folder, const TrackedValues& config);
  // Throws std::logic_error if there are trackers and no run has begun.
  void log(const TrackedValues& values, std::optional<std::int64_t> step);
  void finish();

  // Throws std::invalid_argument that names those that there are; std::logic_error as log().
  Tracker& get(const std::string& name) const;

 private:
  struct Entry {
    TrackerChoice choice;
    std::string name;
    std::shared_ptr<Tracker> tracker;  // Null while there is no run.
    std::size_t failures = 0;
  };
  template <typename Call>
  void each(const Call& call);

  const bool writes_;
  std::vector<Entry> trackers_;
};

}  // namespace accel::runtime
