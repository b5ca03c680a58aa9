#include "process/remove_below.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "common/unique_fd.h"

namespace accel::process {
namespace {

constexpr int kMaxDepth = 64;

std::vector<std::string> Names(int folder) {
  std::vector<std::string> names;
  // The folder is opened again, because closedir() closes its descriptor, and a duplicate would
  // share the position.
  const int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> listed(own < 0 ? nullptr : fdopendir(own), closedir);
  if (listed == nullptr) {
    if (own >= 0) close(own);
    return names;
  }
  while (const dirent* found = readdir(listed.get())) {
    const std::string name = found->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

void RemoveBelow(int folder, int depth) {
  if (depth > kMaxDepth) return;
  for (const std::string& name : Names(folder)) {
    if (unlinkat(folder, name.c_str(), 0) == 0 || unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0)
      continue;
    // `name` is a folder that is not empty. If a link has replaced it meanwhile, fchmodat() follows
    // the link. This does no harm, because the thread has only the user's rights.
    fchmodat(folder, name.c_str(), 0700, 0);
    const common::UniqueFd below(
        openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!below.valid()) continue;
    RemoveBelow(below.get(), depth + 1);
    unlinkat(folder, name.c_str(), AT_REMOVEDIR);
  }
}

}  // namespace

void RemoveBelow(int folder) { RemoveBelow(folder, 0); }

}  // namespace accel::process
