// Turns SIGINT (Ctrl-C) and SIGTERM into calls on a separate thread, where any function
// may be called.
#pragma once

#include <signal.h>

#include <functional>
#include <thread>

#include "common/unique_fd.h"

namespace accel::cli {

// While an object of this class exists, SIGINT and SIGTERM do not end the process. A signal that
// was ignored before (by nohup, or by a shell for a background job) is still ignored. Only one
// object may exist at a time.
class Interrupts {
 public:
  // At each signal, calls `on_interrupt` with the number of signals so far. The destructor waits
  // for a call in progress. There are no calls after it.
  explicit Interrupts(std::function<void(int count)> on_interrupt);
  ~Interrupts();

  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

 private:
  void Listen(const std::function<void(int)>& on_interrupt);

  common::UniqueFd signals_;
  common::UniqueFd end_;
  struct sigaction old_int_ {};
  struct sigaction old_term_ {};
  std::thread thread_;
};

}  // namespace accel::cli
