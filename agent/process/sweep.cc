#include "agent/process/sweep.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <map>

#include "agent/process/process_table.h"
#include "common/check.h"
#include "common/unique_fd.h"

namespace accel {
namespace {

// A storm of forks is smaller after every round. What a bounded number of rounds leaves, the
// caller's next call meets.
constexpr int kMostRounds = 50;

}  // namespace

void BecomeSubreaper() {
  ACCEL_CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0, "every Linux since 3.4 has it");
}

bool SignalProcess(pid_t pid, uint64_t start_time_ticks, int signal) {
  // The descriptor pins the process; the start time says whether it is the one that was meant.
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid() && errno == ESRCH) return false;
  const auto now = ReadProcess(pid);
  if (!now.has_value() || now->start_time_ticks != start_time_ticks) return false;
  if (!pidfd.valid()) return kill(pid, signal) == 0;
  return syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0) == 0;
}

int KillDescendants(const std::function<bool(pid_t)>& excluded) {
  std::map<pid_t, uint64_t> stopped;  // By pid, its start time.
  bool found_new = true;
  for (int round = 0; round < kMostRounds && found_new; ++round) {
    found_new = false;
    // Each is stopped as soon as it is seen: a storm of forks moves on within a millisecond. Those
    // whose parents come later in the list are met in the next round.
    VisitProcesses([&](const ProcessEntry& entry) {
      const bool descends = entry.parent == getpid() || stopped.count(entry.parent) > 0;
      if (!descends || entry.zombie() || stopped.count(entry.pid) > 0) return;
      if (excluded(entry.pid)) return;
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

int KillDescendants() {
  return KillDescendants([](pid_t) { return false; });
}

bool EndOrphans(const std::function<bool(pid_t)>& excluded) {
  KillDescendants(excluded);
  bool none_left = true;
  for (const ProcessEntry& entry : ReadProcessTable()) {
    if (entry.parent != getpid() || excluded(entry.pid)) continue;
    // Even after this one is reaped its children may have come to us since the table was read.
    waitpid(entry.pid, nullptr, WNOHANG);
    none_left = false;
  }
  return none_left;
}

}  // namespace accel
