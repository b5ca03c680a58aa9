// The folder of one `accel launch`, and the cleanup after launches that died.
//
// A launch that is killed leaves its job to its shim, which ends the job. If both are killed at the
// same time, processes, control groups and the folder remain. A record in the folder says how to
// find the processes and groups. A lock on the record shows whether its launch is alive. The next
// launch of the same user kills the processes of dead launches.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/unique_fd.h"
#include "process/cgroup.h"

namespace accel::cli {

class LaunchDir {
 public:
  // Makes `tmp`/accel-launch-XXXXXX and locks its record. Errors are those of the file system.
  static absl::StatusOr<std::unique_ptr<LaunchDir>> Make(const std::string& tmp);
  ~LaunchDir();  // Removes the folder.

  const std::string& path() const { return path_; }

  // Returns the descriptor that has the lock. While any process holds it open, the launch counts as
  // alive, so its shim inherits it.
  int lock_fd() const { return record_.get(); }

  // Records which processes later launches must kill if this process is killed. These are the
  // processes with an environment entry that begins with `mark`, and those in the control groups.
  // Must be called once.
  absl::Status Note(const std::string& mark, const process::CgroupSupport& cgroups);

 private:
  LaunchDir(std::string path, common::UniqueFd record);

  const std::string path_;
  const common::UniqueFd record_;
};

// The result of cleaning up after one dead launch.
struct DeadLaunch {
  std::string path;   // The folder, which has been removed.
  int processes = 0;  // Minimum number of processes that were killed.
};

// Kills the processes that dead launches of this user have left, and removes their folders in
// `tmp`. Skips folders that are locked, belong to other users or have no record.
std::vector<DeadLaunch> SweepDeadLaunches(const std::string& tmp);

}  // namespace accel::cli
