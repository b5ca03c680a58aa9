// Cuts connections that reset streams fast. A caller with a valid credential could otherwise make
// gRPC use gigabytes and a core, without any handler seeing a call.
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
  // Looks five times a second, on a separate thread, and calls `cut` there with the peer
  // (ServerContext::peer()) of each connection that must be cut.
  explicit ResetGuard(std::function<void(const std::string& peer)> cut);
  ~ResetGuard();

 private:
  void Run();
  void Look();

  const std::function<void(const std::string&)> cut_;
  int64_t calls_ = 0;  // At the last look.
  ResetJudge judge_;
  std::atomic<bool> stopping_{false};
  common::Wakeup stop_;
  std::thread thread_;
};

}  // namespace accel::coordinator
