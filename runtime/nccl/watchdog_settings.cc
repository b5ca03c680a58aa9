// The reasons to keep LibTorch's NCCL watchdog quiet.
//
// accel has its own watchdog (runtime/comm/queued_calls.h). It notices a lost peer or a call that
// exceeds its limit, finds out which ranks are missing, and aborts NCCL. The program's next call
// then throws an error with their names. The program can clean up and exit.
//
// LibTorch's watchdog would spoil this. When NCCL reports an error, it
//
//   1. announces a dump of debugging information in the store, and waits 60 s for it,
//   2. then aborts NCCL and throws in its own thread, which is std::terminate(),
//   3. meanwhile a monitor in every rank finds the announcement, waits for eight minutes, and ends
//      its process.
//
// The destructor of ProcessGroupNCCL joins both threads. So a program that catches accel's
// error and returns from main() would hang for a minute and die of SIGABRT. Four variables are
// needed, because each of them stops one of these actions. If one is missing, the remaining
// actions take even longer.
#include "runtime/nccl/watchdog_settings.h"

#include <cstdlib>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <vector>

namespace accel::runtime {
namespace {

// `names` are the names that LibTorch reads, the current one first.
void set_unless_chosen(const std::vector<std::string>& names, const char* value,
                       const std::string& launchers_value = "") {
  for (const std::string& name : names) {
    const char* current = std::getenv(name.c_str());
    if (current != nullptr && current != launchers_value) return;
  }
  setenv(names.front().c_str(), value, /*overwrite=*/1);
}

}  // namespace

void quiet_nccl_watchdog() {
  // No abort and no exception in the watchdog's thread.
  set_unless_chosen(c10d::TORCH_NCCL_ASYNC_ERROR_HANDLING, "0", /*launchers_value=*/"1");
  // No announcement of a dump, and no wait for it.
  set_unless_chosen(c10d::TORCH_NCCL_DUMP_ON_TIMEOUT, "0");
  set_unless_chosen(c10d::TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC, "0");
  // No monitor that ends the process if the watchdog's thread is busy.
  set_unless_chosen(c10d::TORCH_NCCL_ENABLE_MONITORING, "0");
}

}  // namespace accel::runtime
