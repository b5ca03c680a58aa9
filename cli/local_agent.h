// The agent of this machine, in a thread of this process, for `accel launch`.
#pragma once

#include <sys/resource.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "agent/coordinator_link.h"
#include "common/port_range.h"
#include "common/wake_fd.h"
#include "process/cgroup.h"
#include "proto/node.pb.h"

namespace accel::cli {

class LocalAgent {
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
    // RLIMIT_NOFILE of workers. If nullopt, it is that of this process.
    std::optional<rlimit> open_files;
    common::PortRange ports;  // The ports for stores.
  };

  // Starts the agent, and makes this process a subreaper. `link` connects it to its coordinator.
  LocalAgent(const Options& options, v1::NodeObserved identity,
             std::unique_ptr<agent::CoordinatorLink> link);

  // Ends all jobs. Blocks until none of their processes is left.
  ~LocalAgent();

 private:
  void Run(const Options& options, v1::NodeObserved identity);

  const std::unique_ptr<agent::CoordinatorLink> link_;
  common::WakeFd stop_;
  std::thread thread_;
};

}  // namespace accel::cli
