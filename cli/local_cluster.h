// A coordinator and the agent of one node inside this process, connected in memory. Other processes
// cannot reach them.
#pragma once

#include <sys/resource.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "agent/agent.h"
#include "cli/local_link.h"
#include "common/wake_fd.h"
#include "coordinator/coordinator_loop.h"
#include "coordinator/store/memory_store.h"
#include "process/cgroup.h"
#include "shim/host/posix_shim_host.h"

namespace accel::cli {

class LocalCluster {
 public:
  struct Options {
    std::string shim_path;
    std::string jobs_dir;   // Folder for the output of jobs that have no log_dir.
    bool with_gpus = true;  // If false, the GPU driver is not queried.
    process::CgroupSupport cgroups;
    // A descriptor with a lock that every shim holds open while it lives. -1 if there is none.
    int inherit_fd = -1;
    // Folder for output that the jobs' folders refuse. If empty, that output is dropped.
    std::string spill_dir;
    // RLIMIT_NOFILE of workers. If nullopt, that of this process.
    std::optional<rlimit> open_files;
  };

  // Starts both, and makes this process a subreaper. INTERNAL: the GPU driver fails.
  static absl::StatusOr<std::unique_ptr<LocalCluster>> Start(const Options& options);

  // Ends all jobs. Blocks until none of their processes is left.
  ~LocalCluster();

  coordinator::Coordinator* coordinator() { return &loop_; }

 private:
  explicit LocalCluster(const Options& options, v1::NodeObserved identity);

  void RunAgent(const Options& options, v1::NodeObserved identity);

  coordinator::MemoryStore store_;
  coordinator::CoordinatorLoop loop_;
  common::WakeFd stop_;
  std::thread agent_;
};

}  // namespace accel::cli
