// The disk of a simulated node: the small files that its agent and its shims keep there.
//
// Writes fail while the disk is full or broken. A power failure takes files that were not synced:
// each of them is then whole, empty or gone, as on a file system that delays its writes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "tests/simulation/seen_faults.h"

namespace accel::simulation {

// Not thread-safe.
class NodeDisk {
 public:
  // The pointers must outlive the disk.
  NodeDisk(uint32_t seed, SeenFaults* seen, common::Clock* clock)
      : random_(seed), seen_(*seen), clock_(clock) {}

  // Replaces a file. After an error the file is unchanged.
  absl::Status Write(const std::string& path, std::string content);
  // Makes the present content of a file survive a power failure.
  void Sync(const std::string& path);
  // Returns nullopt if there is no such file.
  std::optional<std::string> Read(const std::string& path) const;
  // Removes all files whose path begins with `folder`, which ends with "/".
  void Remove(const std::string& folder);
  // Returns the names of the entries of `folder`, which ends with "/".
  std::vector<std::string> List(const std::string& folder) const;

  // Lets most writes fail with `error` for this time.
  void FailFor(absl::Duration time, absl::Status error);
  void LosePower();
  void Repair() { fails_until_ = absl::InfinitePast(); }

 private:
  struct File {
    std::string content;
    bool synced = false;
  };

  double Chance() { return std::uniform_real_distribution<double>(0, 1)(random_); }

  std::mt19937 random_;
  SeenFaults& seen_;
  common::Clock* const clock_;
  std::map<std::string, File> files_;
  absl::Time fails_until_ = absl::InfinitePast();
  absl::Status error_;
};

}  // namespace accel::simulation
