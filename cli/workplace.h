// The resources of a launch on its machine while it runs: its folders, its signals and its limits.
#pragma once

#include <sys/resource.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "cli/console.h"
#include "cli/launch_dir.h"
#include "cli/local_agent.h"
#include "common/port_range.h"
#include "common/unique_fd.h"
#include "process/cgroup.h"
#include "proto/job.pb.h"

namespace accel::cli {

struct Workplace {
  std::string shim;
  std::unique_ptr<LaunchDir> dir;
  // Folder in memory for output that `dir` cannot take. If null, such output is dropped.
  std::unique_ptr<LaunchDir> spill;
  // Readable when SIGINT, SIGTERM or SIGHUP arrives. These signals are blocked in all threads. A
  // SIGHUP that was ignored before (by nohup) remains ignored.
  common::UniqueFd signals;
  rlimit open_files = {};  // The user's limit, which workers get.
  process::CgroupSupport cgroups;

  std::string spill_dir() const { return spill == nullptr ? "" : spill->path(); }
  LocalAgent::Options AgentOptions(bool cpu, common::PortRange ports) const;

  // Returns the folder of a job's output. If `log_dir` is empty, the output is in `dir`.
  std::string OutputOf(const std::string& log_dir, const std::string& job_id) const;
  // Returns the spill folder of the job. Empty if there is none.
  std::string SpillOf(const std::string& job_id) const;
  // Records which processes later launches must kill if this launch is killed together
  // with its shim.
  absl::Status Note(const std::string& output) const;
};

// Makes the workplace, and cleans up after launches that were killed. `shim` is the argument of
// FindShim(). NOT_FOUND: there is no shim. Other errors are those of the file system.
absl::StatusOr<Workplace> MakeWorkplace(const std::string& shim, const Console& console);

// Unblocks these signals, so that they end this process immediately again.
void UnblockStopSignals();

}  // namespace accel::cli
