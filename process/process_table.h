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
  // Identifies the process, together with the pid and the boot id, although pids are reused.
  uint64_t start_time_ticks = 0;
  // False if its program was begun without an environment. In an exec that is not known yet.
  bool may_have_environment = true;

  bool zombie() const { return state == 'Z' || state == 'X'; }
};

// Parses the text of /proc/PID/stat. nullopt if it is malformed.
std::optional<ProcessEntry> ParseProcessStat(absl::string_view text);

// nullopt if there is no such process.
std::optional<ProcessEntry> ReadProcess(pid_t pid);

// Returns the real user id of a process, or nullopt if there is none.
std::optional<uid_t> UserOf(pid_t pid);

// Calls `visit` with each process in /proc, in ascending order of pids. Each entry is read
// immediately before its call.
void VisitProcesses(const std::function<void(const ProcessEntry&)>& visit);

std::vector<ProcessEntry> ReadProcessTable();

}  // namespace accel::process
