// The socket over which workers report each committed checkpoint to their shim, which could not
// notice it otherwise (docs/decisions/0045).
#pragma once

#include <cstdint>
#include <string>

#include "common/unique_fd.h"
#include "shim/event_loop.h"

namespace accel::shim {

// The number of the descriptor that the workers' end has in each worker.
inline constexpr int kReportTarget = 3;

// Not thread-safe.
class WorkerReports {
 public:
  // If no descriptor is left, the workers get no socket and report nothing.
  explicit WorkerReports(EventLoop* loop);
  ~WorkerReports();
  WorkerReports(const WorkerReports&) = delete;

  // Returns the end that all workers inherit, or -1 if there is none.
  int worker_end() const { return worker_end_.get(); }
  // Returns the variable that tells a worker its descriptor: NAME=DESCRIPTOR:INODE. The inode shows
  // whether the program has closed the descriptor and uses its number for something else.
  const std::string& variable() const { return variable_; }

  // Reads all messages that the workers sent before they ended. Must be called before the end of
  // the generation is reported. The reason is that the shim may notice the end of a process before
  // it reads the earlier messages of that process.
  void ReadRest();

  // Returns the number of checkpoints that the workers have reported.
  int64_t checkpoints() const { return checkpoints_; }

 private:
  void Read(int most);

  EventLoop* const loop_;
  common::UniqueFd end_;
  common::UniqueFd worker_end_;  // Kept open, so that a read never returns end-of-file.
  std::string variable_;
  int64_t checkpoints_ = 0;
};

}  // namespace accel::shim
