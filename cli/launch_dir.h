// The folder of one `accel launch`, and the end of what launches that are dead have left.
//
// A launch that is killed leaves its job to its shim, which ends it. Who kills both at once leaves
// processes, control groups and the folder behind. The folder says what they are, and a lock on it
// that its user is dead: the next launch of the same user ends them.
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
  // Makes `tmp`/accel-launch-XXXXXX and locks it. Errors: the file system's.
  static absl::StatusOr<std::unique_ptr<LaunchDir>> Make(const std::string& tmp);
  ~LaunchDir();  // Removes it.

  const std::string& path() const { return path_; }

  // The lock. Whoever is to end before this launch counts as dead holds it open.
  int lock_fd() const { return record_.get(); }

  // Notes what is to be ended if this process cannot do it: the processes that have an environment
  // entry which begins with `mark`, and those in the control groups. Call it once.
  absl::Status Note(const std::string& mark, const process::CgroupSupport& cgroups);

 private:
  LaunchDir(std::string path, common::UniqueFd record);

  const std::string path_;
  const common::UniqueFd record_;
};

// What a dead launch had left.
struct DeadLaunch {
  std::string path;   // Of its folder, which is gone.
  int processes = 0;  // That were killed, at least.
};

// Ends what dead launches of this user have left, and removes their folders in `tmp`. Folders that
// are locked, that belong to others or that have no record stay.
std::vector<DeadLaunch> SweepDeadLaunches(const std::string& tmp);

}  // namespace accel::cli
