// The kernel's list of processes, as one snapshot, and who descends from whom in it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"

namespace accel {

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

// Every process that /proc shows.
std::vector<ProcessEntry> ReadProcessTable();

// The descendants of `root` in `table`, parents before their children, without those that
// `excluded` picks and everything below them.
std::vector<ProcessEntry> DescendantsOf(pid_t root, const std::vector<ProcessEntry>& table,
                                        const std::function<bool(pid_t)>& excluded);

}  // namespace accel
