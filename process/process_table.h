// The kernel's list of processes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"

namespace accel::process {

struct ProcessEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = 0;                 // As /proc shows it: R, S, T, Z...
  uint64_t start_time_ticks = 0;  // With the pid and the boot id, this names the process for ever.

  bool zombie() const { return state == 'Z' || state == 'X'; }
};

// Parses the text of /proc/PID/stat; nothing if it is not one.
std::optional<ProcessEntry> ParseProcessStat(absl::string_view text);

// Nothing if there is no such process.
std::optional<ProcessEntry> ReadProcess(pid_t pid);

// Calls `visit` with every process that /proc shows, each read just before, in rising order of
// pids.
void VisitProcesses(const std::function<void(const ProcessEntry&)>& visit);

std::vector<ProcessEntry> ReadProcessTable();

}  // namespace accel::process
