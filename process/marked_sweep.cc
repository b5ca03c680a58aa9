#include "process/marked_sweep.h"

#include <sys/types.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "process/stop_and_kill.h"

namespace accel::process {
namespace {

// Pauses of a millisecond in which a process may end its exec.
constexpr int kPauses = 1000;

// Fields of /proc/PID/stat behind the name of the program, from proc(5): env_start and env_end are
// fields 50 and 51.
constexpr size_t kEnvStart = 50 - 3, kEnvEnd = 51 - 3;

std::string Read(pid_t pid, const char* name) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/", name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns true if a process whose environment was found to be empty may have one: it begins the
// next program, and has its memory but not its environment yet, or began it after the file was
// opened.
bool MayHaveEnvironment(pid_t pid) {
  char exe[1];  // Zombies and kernel threads have none.
  if (readlink(absl::StrCat("/proc/", pid, "/exe").c_str(), exe, sizeof(exe)) < 0) return false;
  const std::string stat = Read(pid, "stat");
  const size_t name_end = stat.rfind(") ");
  if (name_end == stat.npos) return false;
  const std::vector<std::string> fields = absl::StrSplit(stat.substr(name_end + 2), ' ');
  if (fields.size() <= kEnvEnd) return false;
  return fields[kEnvStart] == "0" || fields[kEnvStart] != fields[kEnvEnd];
}

bool HasMark(pid_t pid, absl::string_view mark) {
  // The kernel's limit for exec bounds its size.
  std::string entries = Read(pid, "environ");
  for (int i = 0; i < kPauses && entries.empty() && MayHaveEnvironment(pid); ++i) {
    usleep(1000);
    entries = Read(pid, "environ");
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
