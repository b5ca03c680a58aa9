#include "process/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
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
#include "absl/time/clock.h"
#include "common/clock.h"
#include "process/memory_controller.h"
#include "process/process_table.h"
#include "process/spawn.h"

namespace accel::process {
namespace {

constexpr char kUnified[] = "/sys/fs/cgroup";
constexpr char kHybrid[] = "/sys/fs/cgroup/unified";
constexpr char kMemoryV1[] = "/sys/fs/cgroup/memory";

bool HasType(const char* path, uint64_t magic) {
  struct statfs info;
  return statfs(path, &info) == 0 && static_cast<uint64_t>(info.f_type) == magic;
}

std::string ReadSmallFile(int folder, const char* name) {
  const common::UniqueFd file(openat(folder, name, O_RDONLY | O_CLOEXEC));
  char text[4096];
  const ssize_t size = file.valid() ? read(file.get(), text, sizeof(text)) : 0;
  return std::string(text, size > 0 ? static_cast<size_t>(size) : 0);
}

bool WriteSmallFile(int folder, const char* name, absl::string_view text) {
  const common::UniqueFd file(openat(folder, name, O_WRONLY | O_CLOEXEC));
  return file.valid() &&
         write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
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

// Chooses the folder for generations, preferably one whose groups count memory.
void ProbeUnified(const std::string& own, CgroupSupport* support) {
  const std::string parent = own.substr(0, own.rfind('/'));
  std::string no_memory;  // Why the first usable place does not count memory.
  std::string obstacles;
  for (const std::string& place : PlacesForGroups(own, IsDelegated(parent))) {
    const std::string base = absl::StrCat(place, "/accel");
    const std::string obstacle = TryOut(base, support->instance);
    if (!obstacle.empty()) {
      absl::StrAppend(&obstacles, obstacles.empty() ? "" : ", ", "v2 in ", base, ": ", obstacle);
      continue;
    }
    std::string missing = HandMemoryDown(place);
    if (missing.empty()) missing = HandMemoryDown(base);
    if (!support->base.empty() && !missing.empty()) continue;
    support->base = base;
    support->counts_oom_kills = missing.empty();
    no_memory = std::move(missing);
    if (support->counts_oom_kills) break;
  }
  support->description = support->base.empty() ? obstacles : absl::StrCat("v2 in ", support->base);
  if (!no_memory.empty()) {
    absl::StrAppend(&support->description, " without memory: ", no_memory);
  }
}

std::string TryOutMemory(const std::string& base, const std::string& instance) {
  if (!MakeFolder(base)) return absl::StrCat("may not make ", base, ": ", strerror(errno));
  Cgroup probe = Cgroup::Make(absl::StrCat(base, "/probe-", instance));
  const bool usable = probe.fd() >= 0 && faccessat(probe.fd(), "cgroup.procs", W_OK, 0) == 0;
  probe.Remove();
  return usable ? "" : absl::StrCat("may not use ", base);
}

void ProbeMemoryV1(const std::optional<std::string>& path, CgroupSupport* support) {
  if (!HasType(kMemoryV1, CGROUP_SUPER_MAGIC) || !path.has_value()) return;
  const std::string base = absl::StrCat(kMemoryV1, *path, "/accel");
  const std::string obstacle = TryOutMemory(base, support->instance);
  absl::StrAppend(&support->description, "; v1 memory in ", base,
                  obstacle.empty() ? "" : absl::StrCat(": ", obstacle));
  if (!obstacle.empty()) return;
  support->memory_base = base;
  support->counts_oom_kills = true;
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

std::string CgroupSupport::PathFor(const common::GenerationId& id) const {
  return base.empty() ? "" : absl::StrCat(base, "/", FolderName(*this, id));
}

std::string CgroupSupport::MemoryPathFor(const common::GenerationId& id) const {
  return memory_base.empty() ? "" : absl::StrCat(memory_base, "/", FolderName(*this, id));
}

std::string CgroupSupport::JobPathFor(const common::JobId& job) const {
  return base.empty() ? "" : absl::StrCat(base, "/", JobFolderName(*this, job));
}

std::string CgroupSupport::JobMemoryPathFor(const common::JobId& job) const {
  return memory_base.empty() ? "" : absl::StrCat(memory_base, "/", JobFolderName(*this, job));
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
  const std::string own = ReadSmallFile(AT_FDCWD, "/proc/self/cgroup");
  const bool unified = HasType(kUnified, CGROUP2_SUPER_MAGIC);
  const bool hybrid = !unified && HasType(kHybrid, CGROUP2_SUPER_MAGIC);
  const auto path = CgroupPathIn(own, "");
  if ((unified || hybrid) && path.has_value()) {
    ProbeUnified(absl::StrCat(unified ? kUnified : kHybrid, *path), &support);
  } else {
    support.description = "no cgroup v2";
  }
  ProbeMemoryV1(CgroupPathIn(own, "memory"), &support);
  if (!support.counts_oom_kills) {
    absl::StrAppend(&support.description, "; out-of-memory kills are not counted");
  }
  return support;
}

int EndEarlierGenerations(const CgroupSupport& support) {
  if (support.base.empty()) return 0;
  const int count = EndFolders(support.base, support.instance);
  // v1 has no cgroup.kill, but a v1 folder is empty once the v2 folder of the same generation is.
  if (!support.memory_base.empty()) EndFolders(support.memory_base, support.instance);
  return count;
}

std::optional<std::string> CgroupPathIn(absl::string_view proc_self_cgroup,
                                        absl::string_view controller) {
  for (absl::string_view line : absl::StrSplit(proc_self_cgroup, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    for (absl::string_view name : absl::StrSplit(fields[1], ',')) {
      if (name == controller) return fields[2] == "/" ? "" : std::string(fields[2]);
    }
  }
  return std::nullopt;
}

std::optional<int64_t> CountIn(absl::string_view text, absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ');
    int64_t count = 0;
    if (fields.size() == 2 && fields[0] == key && absl::SimpleAtoi(fields[1], &count)) return count;
  }
  return std::nullopt;
}

Cgroup Cgroup::Make(const std::string& path) {
  Cgroup made;
  if (path.empty() || !MakeFolder(path)) return made;
  made.folder_.reset(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (made.folder_.valid()) made.path_ = path;
  return made;
}

void Cgroup::Add(int64_t pid) {
  if (fd() >= 0) WriteSmallFile(fd(), "cgroup.procs", absl::StrCat(pid));
}

void Cgroup::Kill() {
  if (fd() >= 0) WriteSmallFile(fd(), "cgroup.kill", "1");
}

int64_t Cgroup::OomKills() const {
  if (fd() < 0) return 0;
  for (const char* file : {"memory.events", "memory.oom_control"}) {
    if (const auto count = CountIn(ReadSmallFile(fd(), file), "oom_kill")) return *count;
  }
  return 0;
}

bool Cgroup::Remove() {
  if (path_.empty()) return true;
  if (!RemoveTree(path_)) return false;
  *this = Cgroup();
  return true;
}

}  // namespace accel::process
