#include "process/stop_and_kill.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "common/unique_fd.h"

namespace accel::process {
namespace {

// Maximum number of scans in one call, to bound its time. Each scan leaves fewer processes that can
// fork, and the caller's next call handles any that are left.
constexpr int kMaxRounds = 50;

}  // namespace

bool SignalProcess(pid_t pid, uint64_t start_time_ticks, int signal) {
  // The pidfd pins the process, so its pid cannot be reused. The start time then shows whether it
  // is the intended process.
  const common::UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid() && errno == ESRCH) return false;
  const auto now = ReadProcess(pid);
  if (!now.has_value() || now->start_time_ticks != start_time_ticks) return false;
  if (!pidfd.valid()) return kill(pid, signal) == 0;
  return syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0) == 0;
}

int StopAndKill(const std::function<bool(const ProcessEntry&, const StoppedProcesses&)>& chosen) {
  StoppedProcesses stopped;
  bool found_new = true;
  for (int round = 0; round < kMaxRounds && found_new; ++round) {
    found_new = false;
    // Stops each process as soon as it is seen, because a fork storm moves to new pids
    // within a millisecond.
    VisitProcesses([&](const ProcessEntry& entry) {
      if (entry.pid == getpid() || entry.zombie() || stopped.count(entry.pid) > 0) return;
      if (!chosen(entry, stopped)) return;
      if (!SignalProcess(entry.pid, entry.start_time_ticks, SIGSTOP)) return;
      stopped.emplace(entry.pid, entry.start_time_ticks);
      found_new = true;
    });
  }
  int killed = 0;
  for (const auto& [pid, start_time] : stopped) {
    if (SignalProcess(pid, start_time, SIGKILL)) ++killed;
  }
  return killed;
}

}  // namespace accel::process
