#include "common/lock_holders.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace accel::common {
namespace {

namespace fs = std::filesystem;

template <typename Visit>
void VisitNumbers(const std::string& folder, Visit visit) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    int number = 0;
    if (absl::SimpleAtoi(entry->path().filename().string(), &number)) visit(number);
  }
}

// Returns true if this open file has a lock. The kernel lists the locks of an open file
// in its fdinfo.
bool HasLock(pid_t pid, int fd) {
  std::ifstream info(absl::StrCat("/proc/", pid, "/fdinfo/", fd));
  for (std::string line; std::getline(info, line);) {
    if (absl::StartsWith(line, "lock:")) return true;
  }
  return false;
}

bool Holds(pid_t pid, const struct stat& file) {
  bool holds = false;
  VisitNumbers(absl::StrCat("/proc/", pid, "/fd"), [&](int fd) {
    struct stat info;
    if (holds || stat(absl::StrCat("/proc/", pid, "/fd/", fd).c_str(), &info) != 0) return;
    holds = info.st_dev == file.st_dev && info.st_ino == file.st_ino && HasLock(pid, fd);
  });
  return holds;
}

// Returns a text with the process id in the file. The id may be that of a former holder. If that
// process has ended, its id is not returned.
std::string ReadWriter(int fd) {
  constexpr char kUnknown[] = "of unknown id";
  char text[32];
  const ssize_t size = pread(fd, text, sizeof text, 0);
  pid_t pid = 0;
  if (size <= 0 || !absl::SimpleAtoi(absl::string_view(text, static_cast<size_t>(size)), &pid)) {
    return kUnknown;
  }
  return pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH) ? kUnknown : absl::StrCat(pid);
}

}  // namespace

std::vector<pid_t> LockHolders(const std::string& path) {
  std::vector<pid_t> holders;
  struct stat file;
  if (stat(path.c_str(), &file) != 0) return holders;
  VisitNumbers("/proc", [&](int pid) {
    if (Holds(pid, file)) holders.push_back(pid);
  });
  std::sort(holders.begin(), holders.end());
  return holders;
}

bool WriteLockHolder(int fd) {
  const std::string pid = absl::StrCat(getpid(), "\n");
  return ftruncate(fd, 0) == 0 &&
         pwrite(fd, pid.data(), pid.size(), 0) == static_cast<ssize_t>(pid.size());
}

std::string DescribeLockHolder(int fd, const std::string& path) {
  const std::string writer = ReadWriter(fd);
  const std::vector<pid_t> holders = LockHolders(path);
  const bool has_it = std::any_of(holders.begin(), holders.end(),
                                  [&](pid_t pid) { return absl::StrCat(pid) == writer; });
  return holders.empty() || has_it ? writer : absl::StrJoin(holders, ", ");
}

}  // namespace accel::common
