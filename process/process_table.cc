#include "process/process_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/unique_fd.h"

namespace accel::process {
namespace {

constexpr int kStartTimeField = 22;  // Counted from 1, as in proc(5).
constexpr int kStateField = 3;
constexpr int kParentField = 4;
constexpr int kStartCodeField = 26;
constexpr int kEnvStartField = 50;
constexpr int kEnvEndField = 51;

}  // namespace

std::optional<ProcessEntry> ParseProcessStat(absl::string_view text) {
  // PID (NAME) STATE PPID ...: NAME may contain anything, including parentheses and spaces. Its end
  // is therefore searched from the right.
  const size_t open = text.find(" (");
  const size_t close = text.rfind(") ");
  if (open == text.npos || close == text.npos || close < open) return std::nullopt;
  ProcessEntry entry;
  if (!absl::SimpleAtoi(text.substr(0, open), &entry.pid)) return std::nullopt;
  const std::vector<absl::string_view> fields = absl::StrSplit(text.substr(close + 2), ' ');
  if (fields.size() <= kStartTimeField - kStateField || fields[0].size() != 1) return std::nullopt;
  entry.state = fields[0][0];
  if (!absl::SimpleAtoi(fields[kParentField - kStateField], &entry.parent)) return std::nullopt;
  if (!absl::SimpleAtoi(fields[kStartTimeField - kStateField], &entry.start_time_ticks)) {
    return std::nullopt;
  }
  if (fields.size() > kEnvEndField - kStateField) {
    // An exec first makes an empty environment, and sets the start of the code last.
    entry.may_have_environment =
        fields[kStartCodeField - kStateField] == "0" ||
        fields[kEnvStartField - kStateField] != fields[kEnvEndField - kStateField];
  }
  return entry;
}

std::optional<ProcessEntry> ReadProcess(pid_t pid) {
  char path[32];
  std::snprintf(path, sizeof(path), "/proc/%d/stat", pid);
  const common::UniqueFd file(open(path, O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  char text[1024];
  const ssize_t size = read(file.get(), text, sizeof(text));
  if (size <= 0) return std::nullopt;
  return ParseProcessStat(absl::string_view(text, static_cast<size_t>(size)));
}

std::optional<uid_t> UserOf(pid_t pid) {
  char path[32];
  std::snprintf(path, sizeof(path), "/proc/%d/status", pid);
  const common::UniqueFd file(open(path, O_RDONLY | O_CLOEXEC));
  char text[4096];
  const ssize_t size = file.valid() ? read(file.get(), text, sizeof(text)) : 0;
  if (size <= 0) return std::nullopt;
  for (absl::string_view line :
       absl::StrSplit(absl::string_view(text, static_cast<size_t>(size)), '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar("\t "), absl::SkipEmpty());
    uid_t uid = 0;
    if (words.size() > 1 && words[0] == "Uid:" && absl::SimpleAtoi(words[1], &uid)) return uid;
  }
  return std::nullopt;
}

void VisitProcesses(const std::function<void(const ProcessEntry&)>& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  if (proc == nullptr) return;
  while (const dirent* found = readdir(proc.get())) {
    char* end = nullptr;
    const long pid = std::strtol(found->d_name, &end, 10);
    if (pid <= 0 || *end != '\0') continue;
    if (const auto entry = ReadProcess(static_cast<pid_t>(pid))) visit(*entry);
  }
}

std::vector<ProcessEntry> ReadProcessTable() {
  std::vector<ProcessEntry> table;
  VisitProcesses([&table](const ProcessEntry& entry) { table.push_back(entry); });
  return table;
}

}  // namespace accel::process
