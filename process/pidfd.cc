#include "process/pidfd.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "process/process_table.h"

namespace accel::process {

bool IsRunning(pid_t pid, uint64_t start_time_ticks) {
  const auto entry = pid > 0 ? ReadProcess(pid) : std::nullopt;
  return entry.has_value() && !entry->zombie() && entry->start_time_ticks == start_time_ticks;
}

common::UniqueFd OpenProcess(pid_t pid, uint64_t start_time_ticks) {
  if (pid <= 0) return common::UniqueFd();
  // The descriptor comes first, because the pid cannot be reused while it is open.
  common::UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  return IsRunning(pid, start_time_ticks) ? std::move(pidfd) : common::UniqueFd();
}

}  // namespace accel::process
