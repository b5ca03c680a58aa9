#include "common/lock_holders.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

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

}  // namespace accel::common
