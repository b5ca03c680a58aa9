#include "process/controllers.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/unique_fd.h"
#include "process/cgroup_files.h"

namespace accel::process {

bool HasController(absl::string_view text, absl::string_view controller) {
  for (absl::string_view name : absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
    if (name == controller) return true;
  }
  return false;
}

std::string HandDown(absl::string_view controller, const std::string& folder) {
  constexpr char kControl[] = "cgroup.subtree_control";
  const common::UniqueFd group(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (HasController(ReadGroupFile(group.get(), kControl), controller)) return "";
  if (!HasController(ReadGroupFile(group.get(), "cgroup.controllers"), controller)) {
    return absl::StrCat(folder, " has no ", controller, " controller");
  }
  // The kernel itself refuses this for memory, but not for pids. The groups below would then take
  // no processes any more, because pids makes `folder` the root of a threaded subtree.
  const bool is_root = faccessat(group.get(), "cgroup.type", F_OK, 0) != 0;
  if (!is_root && !ReadGroupFile(group.get(), "cgroup.procs").empty()) {
    return absl::StrCat(folder, " contains processes");
  }
  if (WriteGroupFile(group.get(), kControl, absl::StrCat("+", controller))) return "";
  if (errno == EBUSY) return absl::StrCat(folder, " contains processes");
  return absl::StrCat("may not write ", folder, "/", kControl, ": ", strerror(errno));
}

std::vector<std::string> PlacesForGroups(const std::string& own, bool parent_is_delegated) {
  std::vector<std::string> places = {own};
  const size_t slash = own.rfind('/');
  if (parent_is_delegated && slash != std::string::npos) places.push_back(own.substr(0, slash));
  return places;
}

bool IsDelegated(const std::string& folder) {
  for (const char* name : {"trusted.delegate", "user.delegate"}) {
    char value = 0;
    if (getxattr(folder.c_str(), name, &value, 1) == 1 && value == '1') return true;
  }
  return false;
}

}  // namespace accel::process
