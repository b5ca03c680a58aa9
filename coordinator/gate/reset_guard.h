// Cuts connections that reset streams too fast. Otherwise a caller with a valid credential could
// make gRPC use gigabytes of memory and a CPU core, although handlers see few of its calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "common/wakeup.h"
#include "coordinator/gate/core/reset_judge.h"

namespace accel::coordinator {

class ResetGuard {
 public:
  // Looks at all connections five times a second, on a separate thread. Calls `cut` there for each
  // connection that must be cut, with its peer (ServerContext::peer()).
  explicit ResetGuard(std::function<void(const std::string& peer)> cut);
  ~ResetGuard();

 private:
  void Run();
  void Look();

  const std::function<void(const std::string&)> cut_;
  int64_t calls_ = 0;  // The number of calls at the last look.
  ResetJudge judge_;
  std::atomic<bool> stopping_{false};
  common::Wakeup stop_;
  std::thread thread_;
};

}  // namespace accel::coordinator
