#include "process/job_cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/unique_fd.h"
#include "process/controllers.h"
#include "process/max_processes.h"

namespace accel::process {
namespace {

// The files that the user must own to move processes within the group. All other files remain
// root's, so the user can neither lift a limit nor freeze processes that root wants to kill.
constexpr const char* kUsersFiles[] = {"", "cgroup.procs", "cgroup.threads",
                                       "cgroup.subtree_control", "tasks"};

// Limits for groups that the user makes. Without them, the user could nest groups until their path
// is too long to be removed. The user could also make so many that removing them blocks the agent.
// A job needs one level, with one group for the shim and one for each generation.
constexpr char kMaxDepth[] = "4";
constexpr char kMaxDescendants[] = "1000";

// Writes a limit of a group. Returns true if the file does not exist, because v1 has no such files.
bool WriteLimit(const std::string& path, const char* name, const std::string& limit) {
  const common::UniqueFd file(open(absl::StrCat(path, "/", name).c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.valid()) return errno == ENOENT;
  return write(file.get(), limit.data(), limit.size()) > 0;
}

bool GiveTo(const std::string& path, const Account& user) {
  for (const char* name : kUsersFiles) {
    const std::string file = absl::StrCat(path, "/", name);
    // ENOENT is no error, because v1 and v2 have different files.
    if (lchown(file.c_str(), user.uid, user.gid) != 0 && errno != ENOENT) return false;
  }
  return true;
}

}  // namespace

bool MakeJobCgroup(const std::string& path, const Account& user, int64_t max_processes) {
  if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return false;
  // Best effort: lets the generations' groups count out-of-memory kills and refused forks.
  HandDown(kMemoryController, path);
  HandDown(kPidsController, path);
  const std::string processes =
      max_processes > 0 ? absl::StrCat(max_processes + kProcessesOfShim) : "max";
  if (WriteLimit(path, "cgroup.max.depth", kMaxDepth) &&
      WriteLimit(path, "cgroup.max.descendants", kMaxDescendants) &&
      WriteLimit(path, "pids.max", processes) && GiveTo(path, user)) {
    return true;
  }
  rmdir(path.c_str());
  return false;
}

Cgroup MakeShimCgroup(const std::string& job_path, const Account& user) {
  const std::string path = absl::StrCat(job_path, "/shim");
  Cgroup group = Cgroup::Make(path);
  // The user must own this group too, because moving a process also needs write access to the group
  // that it leaves.
  if (group.fd() >= 0 && !GiveTo(path, user)) group.Remove();
  return group;
}

std::string GenerationCgroup(const std::string& job_path, common::Generation generation) {
  return job_path.empty() ? "" : absl::StrCat(job_path, "/g", generation);
}

}  // namespace accel::process
