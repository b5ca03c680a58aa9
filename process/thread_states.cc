#include "process/thread_states.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/printable.h"
#include "common/unique_fd.h"
#include "process/process_table.h"

namespace accel::process {
namespace {

constexpr size_t kMostStackLines = 16;
constexpr size_t kMostFileBytes = 4096;

// Returns the beginning of a file, or an empty string if it cannot be read.
std::string ReadStart(const std::string& path) {
  const common::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return "";
  std::string text(kMostFileBytes, '\0');
  const ssize_t size = read(file.get(), text.data(), text.size());
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return text;
}

// Returns the thread numbers of a process, in ascending order.
std::vector<pid_t> ThreadsOf(pid_t pid) {
  std::vector<pid_t> threads;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(
      opendir(absl::StrCat("/proc/", pid, "/task").c_str()), closedir);
  while (const dirent* entry = folder == nullptr ? nullptr : readdir(folder.get())) {
    pid_t thread = 0;
    if (absl::SimpleAtoi(entry->d_name, &thread)) threads.push_back(thread);
  }
  std::sort(threads.begin(), threads.end());
  return threads;
}

const char* StateName(char state) {
  switch (state) {
    case 'R':
      return "running";
    case 'S':
      return "sleeping";
    case 'D':
      return "in a wait that no signal ends";
    case 'T':
      return "stopped by a signal";
    case 't':
      return "stopped by a debugger";
    case 'Z':
    case 'X':
      return "ended";
    default:
      return "other";
  }
}

// Returns the name of a system call in which threads often wait, or an empty string.
absl::string_view SystemCallName(int number) {
  constexpr std::pair<int, absl::string_view> kNames[] = {
      {SYS_read, "read"},
      {SYS_write, "write"},
      {SYS_ppoll, "ppoll"},
      {SYS_epoll_pwait, "epoll_pwait"},
      {SYS_futex, "futex"},
      {SYS_recvfrom, "recvfrom"},
      {SYS_recvmsg, "recvmsg"},
      {SYS_sendto, "sendto"},
      {SYS_sendmsg, "sendmsg"},
      {SYS_ioctl, "ioctl"},
      {SYS_fsync, "fsync"},
      {SYS_wait4, "wait4"},
      {SYS_nanosleep, "nanosleep"},
      {SYS_clock_nanosleep, "clock_nanosleep"},
      {SYS_sched_yield, "sched_yield"},
#ifdef SYS_poll
      {SYS_poll, "poll"},
      {SYS_select, "select"},
      {SYS_epoll_wait, "epoll_wait"},
#endif
  };
  for (const auto& [known, name] : kNames) {
    if (known == number) return name;
  }
  return "";
}

// Returns ", in system call futex (202)", or an empty string if the thread is in none.
std::string InSystemCall(const std::string& text) {
  int number = 0;
  const std::string first(text.substr(0, text.find_first_of(" \n")));
  if (!absl::SimpleAtoi(first, &number) || number < 0) return "";
  const absl::string_view name = SystemCallName(number);
  return name.empty() ? absl::StrCat(", in system call ", number)
                      : absl::StrCat(", in system call ", name, " (", number, ")");
}

std::vector<std::string> DescribeThread(const std::string& folder, pid_t thread) {
  const std::optional<ProcessEntry> entry =
      ParseProcessStat(absl::StripTrailingAsciiWhitespace(ReadStart(folder + "stat")));
  if (!entry) return {};  // The thread has just ended.
  const std::string name = ReadStart(folder + "comm");
  std::string line =
      absl::StrCat("thread ", thread, " \"", common::Printable(absl::StripSuffix(name, "\n")),
                   "\": state ", std::string(1, entry->state), " (", StateName(entry->state), ")",
                   InSystemCall(ReadStart(folder + "syscall")));
  // The file has "0" for a thread that does not wait, or if this process may not read it.
  if (const std::string function = ReadStart(folder + "wchan");
      !function.empty() && function != "0")
    absl::StrAppend(&line, ", waits in ", common::Printable(function));
  std::vector<std::string> lines = {line};
  for (const absl::string_view frame :
       absl::StrSplit(ReadStart(folder + "stack"), '\n', absl::SkipEmpty())) {
    if (lines.size() > kMostStackLines) break;
    lines.push_back(absl::StrCat("  ", common::Printable(frame)));
  }
  return lines;
}

}  // namespace

std::vector<std::string> DescribeThreads(pid_t pid, size_t most_bytes) {
  std::vector<std::string> all;
  size_t bytes = 0, described = 0;
  const std::vector<pid_t> threads = ThreadsOf(pid);
  for (const pid_t thread : threads) {
    const std::vector<std::string> lines =
        DescribeThread(absl::StrCat("/proc/", pid, "/task/", thread, "/"), thread);
    size_t size = 0;
    for (const std::string& line : lines) size += line.size();
    if (bytes + size > most_bytes) break;
    bytes += size;
    ++described;
    all.insert(all.end(), lines.begin(), lines.end());
  }
  if (threads.empty()) all.push_back("no threads");
  if (described < threads.size()) {
    all.push_back(absl::StrCat(threads.size() - described, " more threads"));
  }
  return all;
}

}  // namespace accel::process
