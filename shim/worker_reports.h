// The socket over which workers report to their shim what it could not notice otherwise: committed
// checkpoints (docs/decisions/0045) and signs of progress (docs/decisions/0097).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/unique_fd.h"
#include "shim/event_loop.h"

namespace accel::shim {

// The number of the descriptor that the workers' end has in each worker.
inline constexpr int kReportTarget = 3;

// Not thread-safe.
class WorkerReports {
 public:
  // Functions that get the rank that has made progress, waits for other ranks, or pauses. The rank
  // may be any number, because any process of the job can send it.
  struct Listener {
    std::function<void(int rank)> beat = [](int) {};
    std::function<void(int rank)> wait = [](int) {};
    std::function<void(int rank)> pause = [](int) {};
  };

  // If no descriptor is left, the workers get no socket and report nothing.
  WorkerReports(EventLoop* loop, Listener listener);
  ~WorkerReports();
  WorkerReports(const WorkerReports&) = delete;

  // Returns the end that all workers inherit, or -1 if there is none.
  int worker_end() const { return worker_end_.get(); }
  // Returns the value of a variable that tells a worker its descriptor: DESCRIPTOR:INODE. The inode
  // shows whether the program has closed the descriptor and uses its number for something else.
  const std::string& address() const { return address_; }

  // Reads all messages that the workers have sent. Must be called before the end of the generation
  // is reported, because the shim may notice the end of a process before it reads the earlier
  // messages of that process.
  void ReadRest();

  // Returns the number of checkpoints that the workers have reported.
  int64_t checkpoints() const { return checkpoints_; }

 private:
  void Read(int most);

  EventLoop* const loop_;
  const Listener listener_;
  common::UniqueFd end_;
  common::UniqueFd worker_end_;  // Kept open, so that a read never returns end-of-file.
  std::string address_;
  int64_t checkpoints_ = 0;
};

}  // namespace accel::shim
