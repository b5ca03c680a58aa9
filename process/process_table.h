// The kernel's list of processes, read from /proc.
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
  char state = 0;  // R, S, T, Z..., as in /proc.
  // Identifies the process together with the pid and the boot id, because pids are reused.
  uint64_t start_time_ticks = 0;
  // False if the process has started its program without an environment. During an exec this is not
  // known yet, so it is true.
  bool may_have_environment = true;

  bool zombie() const { return state == 'Z' || state == 'X'; }
};

// Parses the text of /proc/PID/stat. Returns nullopt if it is malformed.
std::optional<ProcessEntry> ParseProcessStat(absl::string_view text);

// Returns the entry of a process, or nullopt if there is no such process.
std::optional<ProcessEntry> ReadProcess(pid_t pid);

// Returns the real user id of a process, or nullopt if there is no such process.
std::optional<uid_t> UserOf(pid_t pid);

// Calls `visit` with each process in /proc, in ascending order of pids. Reads each entry
// immediately before the call.
void VisitProcesses(const std::function<void(const ProcessEntry&)>& visit);

std::vector<ProcessEntry> ReadProcessTable();

}  // namespace accel::process
