#include "agent/process/marked_sweep.h"

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/process/process_table.h"
#include "agent/process/sweep.h"

namespace accel {
namespace {

// As in KillDescendants().
constexpr int kMostRounds = 50;

bool HasMark(pid_t pid, absl::string_view mark) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/environ"), std::ios::binary);
  // Empty for zombies and for the kernel's own. Its size is the kernel's bound on an exec.
  const std::string entries{std::istreambuf_iterator<char>(file), {}};
  return absl::StartsWith(entries, mark) ||
         absl::StrContains(entries, absl::StrCat(std::string(1, '\0'), mark));
}

}  // namespace

int KillMarked(absl::string_view mark) {
  std::map<pid_t, uint64_t> stopped;  // By pid, its start time.
  bool found_new = true;
  for (int round = 0; round < kMostRounds && found_new; ++round) {
    found_new = false;
    VisitProcesses([&](const ProcessEntry& entry) {
      if (entry.pid == getpid() || entry.zombie() || stopped.count(entry.pid) > 0) return;
      if (!HasMark(entry.pid, mark)) return;
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

}  // namespace accel
