#include "process/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "common/clock.h"
#include "process/cgroup_files.h"
#include "process/controllers.h"
#include "process/max_processes.h"
#include "process/process_table.h"
#include "process/spawn.h"

namespace accel::process {
namespace {

constexpr char kUnified[] = "/sys/fs/cgroup";
constexpr char kHybrid[] = "/sys/fs/cgroup/unified";
constexpr char kMemoryV1[] = "/sys/fs/cgroup/memory";
constexpr char kPidsV1[] = "/sys/fs/cgroup/pids";

bool HasType(const char* path, uint64_t magic) {
  struct statfs info;
  return statfs(path, &info) == 0 && static_cast<uint64_t>(info.f_type) == magic;
}

bool MakeFolder(const std::string& path) {
  return mkdir(path.c_str(), 0755) == 0 || errno == EEXIST;
}

// Removes depth first. The kernel allows only folders of a control group to be
// removed, not its files.
bool RemoveTree(const std::string& path) {
  if (rmdir(path.c_str()) == 0 || errno == ENOENT) return true;
  {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), closedir);
    if (folder == nullptr) return errno == ENOENT;
    while (const dirent* found = readdir(folder.get())) {
      if (found->d_type != DT_DIR || found->d_name[0] == '.') continue;
      RemoveTree(absl::StrCat(path, "/", found->d_name));
    }
  }
  return rmdir(path.c_str()) == 0;
}

// Tries to start a process in a new folder in `base`. Its program is "/", which cannot be executed,
// so no program ever runs. Returns "" if `base` can be used, or else the reason.
std::string TryOut(const std::string& base, const std::string& instance) {
  if (!MakeFolder(base)) return absl::StrCat("may not make ", base, ": ", strerror(errno));
  const std::string path = absl::StrCat(base, "/probe-", instance);
  Cgroup probe = Cgroup::Make(path);
  if (probe.fd() < 0) return absl::StrCat("may not make ", path, ": ", strerror(errno));
  SpawnOptions nothing;
  nothing.path = "/";
  nothing.cgroup_fd = probe.fd();
  const bool born_inside = Spawn(nothing, true).in_cgroup;
  const bool can_kill = faccessat(probe.fd(), "cgroup.kill", W_OK, 0) == 0;
  probe.Remove();
  if (!born_inside) return absl::StrCat("may not start processes in ", base);
  return can_kill ? "" : "the kernel has no cgroup.kill";
}

// Enables a controller for the groups in `place` and for those in `base`, which is below it.
// Returns "", or the reason why it is not enabled.
std::string HandDownTwice(absl::string_view controller, const std::string& place,
                          const std::string& base) {
  const std::string missing = HandDown(controller, place);
  return missing.empty() ? HandDown(controller, base) : missing;
}

// Chooses the folder for generations, preferably one whose groups count memory. Returns true if its
// groups can limit processes.
bool ProbeUnified(const std::string& own, CgroupSupport* support) {
  const std::string parent = own.substr(0, own.rfind('/'));
  std::string no_memory;  // Why the first usable place does not count memory.
  std::string obstacles;
  bool limits = false;
  for (const std::string& place : PlacesForGroups(own, IsDelegated(parent))) {
    const std::string base = absl::StrCat(place, "/accel");
    const std::string obstacle = TryOut(base, support->instance);
    if (!obstacle.empty()) {
      absl::StrAppend(&obstacles, obstacles.empty() ? "" : ", ", "v2 in ", base, ": ", obstacle);
      continue;
    }
    std::string missing = HandDownTwice(kMemoryController, place, base);
    if (!support->base.empty() && !missing.empty()) continue;
    support->base = base;
    support->counts_oom_kills = missing.empty();
    limits = HandDownTwice(kPidsController, place, base).empty();
    no_memory = std::move(missing);
    if (support->counts_oom_kills) break;
  }
  support->description = support->base.empty() ? obstacles : absl::StrCat("v2 in ", support->base);
  if (!no_memory.empty()) {
    absl::StrAppend(&support->description, " without memory: ", no_memory);
  }
  return limits;
}

std::string TryOutV1(const std::string& base, const std::string& instance) {
  if (!MakeFolder(base)) return absl::StrCat("may not make ", base, ": ", strerror(errno));
  Cgroup probe = Cgroup::Make(absl::StrCat(base, "/probe-", instance));
  const bool usable = probe.OpenTasks().valid();
  probe.Remove();
  return usable ? "" : absl::StrCat("may not use ", base);
}

// Returns the folder for generations in the v1 hierarchy of a controller, or "" if it is not
// usable. `root` is where this hierarchy is, and `path` that of this process in it.
std::string ProbeV1(const char* controller, const char* root,
                    const std::optional<std::string>& path, CgroupSupport* support) {
  if (!HasType(root, CGROUP_SUPER_MAGIC) || !path.has_value()) return "";
  const std::string base = absl::StrCat(root, *path, "/accel");
  const std::string obstacle = TryOutV1(base, support->instance);
  absl::StrAppend(&support->description, "; v1 ", controller, " in ", base,
                  obstacle.empty() ? "" : absl::StrCat(": ", obstacle));
  return obstacle.empty() ? base : "";
}

std::string FileName(std::string name) {
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.') c = '_';
  }
  return name;
}

std::string FolderName(const CgroupSupport& support, const common::GenerationId& id) {
  return FileName(absl::StrCat(id.job.value(), "-", id.generation, "-", support.instance));
}

std::string JobFolderName(const CgroupSupport& support, const common::JobId& job) {
  return FileName(absl::StrCat("user-", job.value(), "-", support.instance));
}

int EndFolders(const std::string& base, const std::string& instance) {
  int count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(base, error)) {
    if (!absl::EndsWith(entry.path().filename().string(), FileName("-" + instance))) continue;
    Cgroup folder = Cgroup::Make(entry.path().string());
    folder.Kill();
    const absl::Time give_up = common::SteadyClock()->Now() + absl::Seconds(2);
    while (!folder.Remove() && common::SteadyClock()->Now() < give_up)
      absl::SleepFor(absl::Milliseconds(2));
    ++count;
  }
  return count;
}

}  // namespace

bool CgroupSupport::ChooseMaxProcesses(int64_t wish) {
  if (wish == 0) return true;
  if (max_processes == 0) return false;
  max_processes = wish;
  return true;
}

std::string CgroupSupport::PathFor(const common::GenerationId& id) const {
  return base.empty() ? "" : absl::StrCat(base, "/", FolderName(*this, id));
}

std::string CgroupSupport::MemoryPathFor(const common::GenerationId& id) const {
  return memory_base.empty() ? "" : absl::StrCat(memory_base, "/", FolderName(*this, id));
}

std::string CgroupSupport::PidsPathFor(const common::GenerationId& id) const {
  return pids_base.empty() ? "" : absl::StrCat(pids_base, "/", FolderName(*this, id));
}

std::string CgroupSupport::JobPathFor(const common::JobId& job) const {
  return base.empty() ? "" : absl::StrCat(base, "/", JobFolderName(*this, job));
}

std::string CgroupSupport::JobMemoryPathFor(const common::JobId& job) const {
  return memory_base.empty() ? "" : absl::StrCat(memory_base, "/", JobFolderName(*this, job));
}

std::string CgroupSupport::JobPidsPathFor(const common::JobId& job) const {
  return pids_base.empty() ? "" : absl::StrCat(pids_base, "/", JobFolderName(*this, job));
}

CgroupSupport ProbeCgroups(const std::string& instance) {
  CgroupSupport support;
  const char* wish = getenv("ACCEL_CGROUP");
  if (wish != nullptr && strcmp(wish, "none") == 0) {
    support.description = "none: turned off by ACCEL_CGROUP=none";
    return support;
  }
  support.instance = instance;
  if (const auto self = ReadProcess(getpid()); instance.empty()) {
    support.instance = absl::StrCat(getpid(), "-", self ? self->start_time_ticks : 0);
  }
  const std::string own = ReadGroupFile(AT_FDCWD, "/proc/self/cgroup");
  const bool unified = HasType(kUnified, CGROUP2_SUPER_MAGIC);
  const bool hybrid = !unified && HasType(kHybrid, CGROUP2_SUPER_MAGIC);
  const auto path = CgroupPathIn(own, "");
  std::string limited;  // The group whose pids.max, and that of those above, this process has.
  if ((unified || hybrid) && path.has_value()) {
    if (ProbeUnified(absl::StrCat(unified ? kUnified : kHybrid, *path), &support)) {
      limited = support.base;
    }
  } else {
    support.description = "no cgroup v2";
  }
  support.memory_base = ProbeV1("memory", kMemoryV1, CgroupPathIn(own, "memory"), &support);
  support.pids_base = ProbeV1("pids", kPidsV1, CgroupPathIn(own, "pids"), &support);
  support.counts_oom_kills |= !support.memory_base.empty();
  if (!support.pids_base.empty()) limited = support.pids_base;
  if (!limited.empty()) {
    support.max_processes =
        DefaultMaxProcesses(ReadProcessRoom(SmallestLimit(limited, "pids.max")));
  } else {
    absl::StrAppend(&support.description, "; the number of processes is not limited");
  }
  if (!support.counts_oom_kills) {
    absl::StrAppend(&support.description, "; out-of-memory kills are not counted");
  }
  return support;
}

int EndEarlierGenerations(const CgroupSupport& support) {
  if (support.base.empty()) return 0;
  const int count = EndFolders(support.base, support.instance);
  // v1 has no cgroup.kill, but a v1 folder is empty once the v2 folder of the same generation is.
  for (const std::string& base : {support.memory_base, support.pids_base}) {
    if (!base.empty()) EndFolders(base, support.instance);
  }
  return count;
}

Cgroup Cgroup::Make(const std::string& path) {
  return path.empty() || !MakeFolder(path) ? Cgroup() : Find(path);
}

Cgroup Cgroup::Find(const std::string& path) {
  Cgroup found;
  if (path.empty()) return found;
  found.folder_.reset(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (found.folder_.valid()) found.path_ = path;
  return found;
}

common::UniqueFd Cgroup::OpenTasks() const {
  return common::UniqueFd(fd() < 0 ? -1 : openat(fd(), "tasks", O_WRONLY | O_CLOEXEC));
}

void Cgroup::LimitProcesses(int64_t limit) {
  if (fd() >= 0 && limit > 0) WriteGroupFile(fd(), "pids.max", absl::StrCat(limit));
}

int64_t Cgroup::RefusedForks() const {
  return fd() < 0 ? 0 : CountIn(ReadGroupFile(fd(), "pids.events"), "max").value_or(0);
}

void Cgroup::Kill() {
  if (fd() < 0 || WriteGroupFile(fd(), "cgroup.kill", "1")) return;
  // v1 has no such file. The next call finds the processes that are started meanwhile, and those
  // that do not fit into this text. Its last line may be cut off.
  const std::string text = ReadGroupFile(fd(), "cgroup.procs");
  const absl::string_view lines = absl::string_view(text).substr(0, text.rfind('\n') + 1);
  for (absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    int pid = 0;
    if (absl::SimpleAtoi(line, &pid) && pid > 0) kill(pid, SIGKILL);
  }
}

int64_t Cgroup::OomKills() const {
  if (fd() < 0) return 0;
  for (const char* file : {"memory.events", "memory.oom_control"}) {
    if (const auto count = CountIn(ReadGroupFile(fd(), file), "oom_kill")) return *count;
  }
  return 0;
}

std::optional<int64_t> Cgroup::MemoryPeak() const {
  if (fd() < 0) return std::nullopt;
  for (const char* file : {"memory.peak", "memory.max_usage_in_bytes"}) {
    if (const auto bytes = NumberIn(ReadGroupFile(fd(), file))) return bytes;
  }
  return std::nullopt;
}

std::optional<int64_t> Cgroup::MemoryLimit() const {
  for (const char* file : {"memory.max", "memory.limit_in_bytes"}) {
    if (const auto bytes = SmallestLimit(path_, file)) return bytes;
  }
  return std::nullopt;
}

bool Cgroup::Remove() {
  if (path_.empty()) return true;
  if (!RemoveTree(path_)) return false;
  *this = Cgroup();
  return true;
}

}  // namespace accel::process
