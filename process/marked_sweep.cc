#include "process/marked_sweep.h"

#include <sys/types.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "process/process_table.h"
#include "process/stop_and_kill.h"

namespace accel::process {
namespace {

// Maximum number of pauses of a millisecond to wait for the end of an exec.
constexpr int kPauses = 1000;

std::string Environment(pid_t pid) {
  // The size is bounded by the kernel's limit for exec.
  std::ifstream file(absl::StrCat("/proc/", pid, "/environ"), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns true if a process may have an environment although its file was read as empty. The
// process may be in an exec, between the new memory and the new environment. Or its exec began
// after the file was opened.
bool MayHaveEnvironment(pid_t pid) {
  char exe[1];  // Zombies and kernel threads have no executable.
  if (readlink(absl::StrCat("/proc/", pid, "/exe").c_str(), exe, sizeof(exe)) < 0) return false;
  const std::optional<ProcessEntry> entry = ReadProcess(pid);
  return entry && entry->may_have_environment;
}

bool HasMark(pid_t pid, absl::string_view mark) {
  std::string entries = Environment(pid);
  for (int i = 0; i < kPauses && entries.empty() && MayHaveEnvironment(pid); ++i) {
    usleep(1000);
    entries = Environment(pid);
  }
  return absl::StartsWith(entries, mark) ||
         absl::StrContains(entries, absl::StrCat(std::string(1, '\0'), mark));
}

}  // namespace

int KillMarked(absl::string_view mark) {
  return StopAndKill(
      [&](const ProcessEntry& entry, const StoppedProcesses&) { return HasMark(entry.pid, mark); });
}

}  // namespace accel::process
