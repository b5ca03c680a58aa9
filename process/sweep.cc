#include "process/sweep.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "process/process_table.h"
#include "process/stop_and_kill.h"

namespace accel::process {

void BecomeSubreaper() {
  ACCEL_CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0, "every Linux since 3.4 has it");
}

int KillDescendants(const std::function<bool(pid_t)>& excluded) {
  // A descendant that /proc lists before its parent is found in the next round.
  return StopAndKill([&](const ProcessEntry& entry, const StoppedProcesses& stopped) {
    const bool descends = entry.parent == getpid() || stopped.count(entry.parent) > 0;
    return descends && !excluded(entry.pid);
  });
}

int KillDescendants() {
  return KillDescendants([](pid_t) { return false; });
}

bool EndOrphans(const std::function<bool(pid_t)>& excluded) {
  KillDescendants(excluded);
  bool none_left = true;
  for (const ProcessEntry& entry : ReadProcessTable()) {
    if (entry.parent != getpid() || excluded(entry.pid)) continue;
    // Even if this child is reaped now, processes may be left, because its children may have become
    // ours since the table was read.
    waitpid(entry.pid, nullptr, WNOHANG);
    none_left = false;
  }
  return none_left;
}

}  // namespace accel::process
