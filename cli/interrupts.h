// Ctrl-C and SIGTERM as calls on a thread of their own, where everything is allowed.
#pragma once

#include <signal.h>

#include <functional>
#include <thread>

#include "common/unique_fd.h"

namespace accel::cli {

// While it lives SIGINT and SIGTERM do not end the process; a signal that was ignored before
// (nohup, a shell's background job) stays ignored. One at a time.
class Interrupts {
 public:
  // `on_interrupt` is told how many there have been, this one included. It is not called again once
  // the destructor has begun, which waits for a call under way.
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
