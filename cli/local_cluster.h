// A coordinator and the agent of one node inside this process, connected in memory. Other processes
// cannot reach them.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "cli/local_agent.h"
#include "coordinator/coordinator_loop.h"
#include "coordinator/store/memory_store.h"

namespace accel::cli {

class LocalCluster {
 public:
  // Starts the coordinator and the agent. INTERNAL: the GPU driver fails.
  static absl::StatusOr<std::unique_ptr<LocalCluster>> Start(const LocalAgent::Options& options);

  // Ends all jobs. Blocks until none of their processes is left.
  ~LocalCluster();

  coordinator::Coordinator* coordinator() { return &loop_; }

 private:
  LocalCluster(const LocalAgent::Options& options, v1::NodeObserved identity);

  coordinator::MemoryStore store_;
  coordinator::CoordinatorLoop loop_;
  std::unique_ptr<LocalAgent> agent_;
};

}  // namespace accel::cli
