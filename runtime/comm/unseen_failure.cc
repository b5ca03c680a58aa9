#include "runtime/comm/unseen_failure.h"

#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <iostream>

namespace accel::runtime {
namespace {

std::atomic<bool> has_failed = false;

void change_exit_code(int status, void*) {
  if (!has_failed || status != 0) return;
  std::cout.flush();
  std::fflush(nullptr);
  _exit(1);
}

}  // namespace

void watch_exit_code() {
  [[maybe_unused]] static const int registered = on_exit(change_exit_code, nullptr);
}

void fail_at_exit() { has_failed = true; }

}  // namespace accel::runtime
