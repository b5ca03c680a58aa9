// A coordinator and the agent of one node inside this process, joined in memory: nobody else can
// reach them.
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
#include "coordinator/store/memory_job_store.h"
#include "process/cgroup.h"
#include "shim/host/posix_shim_host.h"

namespace accel::cli {

class LocalCluster {
 public:
  struct Options {
    std::string shim_path;
    std::string jobs_dir;   // Output of jobs that name no place of their own.
    bool with_gpus = true;  // False: the driver is not asked.
    process::CgroupSupport cgroups;
    int inherit_fd = -1;    // Every shim holds it open as long as it lives (a lock); -1: none.
    std::string spill_dir;  // For output that the jobs' folders refuse; empty: it is dropped.
    std::optional<rlimit> open_files;  // RLIMIT_NOFILE of workers; none: this process's.
  };

  // Makes this process a subreaper. INTERNAL: a GPU driver that fails.
  static absl::StatusOr<std::unique_ptr<LocalCluster>> Start(const Options& options);

  // Ends all jobs; returns once no process of them is left.
  ~LocalCluster();

  coordinator::Coordinator* coordinator() { return &loop_; }

 private:
  explicit LocalCluster(const Options& options, v1::NodeObserved identity);

  void RunAgent(const Options& options, v1::NodeObserved identity);

  coordinator::MemoryJobStore store_;
  coordinator::CoordinatorLoop loop_;
  common::WakeFd stop_;
  std::thread agent_;
};

}  // namespace accel::cli
