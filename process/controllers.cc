#include "process/controllers.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/unique_fd.h"

namespace accel::process {
namespace {

std::string ReadList(const std::string& path) {
  const common::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[4096];
  const ssize_t size = file.valid() ? read(file.get(), text, sizeof(text)) : 0;
  return std::string(text, size > 0 ? static_cast<size_t>(size) : 0);
}

}  // namespace

bool HasController(absl::string_view text, absl::string_view controller) {
  for (absl::string_view name : absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
    if (name == controller) return true;
  }
  return false;
}

std::string HandDown(absl::string_view controller, const std::string& folder) {
  const std::string control = absl::StrCat(folder, "/cgroup.subtree_control");
  if (HasController(ReadList(control), controller)) return "";
  if (!HasController(ReadList(absl::StrCat(folder, "/cgroup.controllers")), controller)) {
    return absl::StrCat(folder, " has no ", controller, " controller");
  }
  // The kernel itself refuses this for memory, but not for pids. The groups below would then take
  // no processes any more, because pids makes `folder` the root of a threaded subtree.
  const bool is_root = access(absl::StrCat(folder, "/cgroup.type").c_str(), F_OK) != 0;
  if (!is_root && !ReadList(absl::StrCat(folder, "/cgroup.procs")).empty()) {
    return absl::StrCat(folder, " contains processes");
  }
  const std::string add = absl::StrCat("+", controller);
  const common::UniqueFd file(open(control.c_str(), O_WRONLY | O_CLOEXEC));
  const bool written =
      file.valid() && write(file.get(), add.data(), add.size()) == static_cast<ssize_t>(add.size());
  if (written) return "";
  if (errno == EBUSY) return absl::StrCat(folder, " contains processes");
  return absl::StrCat("may not write ", control, ": ", strerror(errno));
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
