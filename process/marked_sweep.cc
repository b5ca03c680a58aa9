#include "process/marked_sweep.h"

#include <sys/types.h>

#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "process/stop_and_kill.h"

namespace accel::process {
namespace {

bool HasMark(pid_t pid, absl::string_view mark) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/environ"), std::ios::binary);
  // The text is empty for zombies and kernel threads. The kernel's limit for exec bounds its size.
  const std::string entries{std::istreambuf_iterator<char>(file), {}};
  return absl::StartsWith(entries, mark) ||
         absl::StrContains(entries, absl::StrCat(std::string(1, '\0'), mark));
}

}  // namespace

int KillMarked(absl::string_view mark) {
  return StopAndKill(
      [&](const ProcessEntry& entry, const StoppedProcesses&) { return HasMark(entry.pid, mark); });
}

}  // namespace accel::process
