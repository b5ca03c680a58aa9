// The socket over which workers tell their shim what it cannot see: that a checkpoint is committed
// (docs/decisions/0045).
#pragma once

#include <cstdint>
#include <string>

#include "common/unique_fd.h"
#include "shim/event_loop.h"

namespace accel::shim {

// The descriptor that the workers' end has in each worker.
inline constexpr int kReportTarget = 3;

// Not thread-safe.
class WorkerReports {
 public:
  // Without a descriptor that is left, workers have no such socket, and report nothing.
  explicit WorkerReports(EventLoop* loop);
  ~WorkerReports();
  WorkerReports(const WorkerReports&) = delete;

  // The workers' end, which all of them inherit. -1 if there is none.
  int worker_end() const { return worker_end_.get(); }
  // Returns the variable by which a worker finds it: NAME=DESCRIPTOR:INODE. The inode tells a
  // program that has closed the descriptor, and uses its number for something else.
  const std::string& variable() const { return variable_; }

  // Reads all that the workers sent before they ended. To be called before the agent is told that
  // the generation has ended, because the shim may notice the end of a process before the messages
  // that the process sent earlier.
  void ReadRest();

  // The number of checkpoints that the workers have reported.
  int64_t checkpoints() const { return checkpoints_; }

 private:
  void Read(int most);

  EventLoop* const loop_;
  common::UniqueFd end_;
  common::UniqueFd worker_end_;  // Kept open, so that reading never meets an end.
  std::string variable_;
  int64_t checkpoints_ = 0;
};

}  // namespace accel::shim
