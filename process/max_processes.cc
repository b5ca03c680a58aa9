#include "process/max_processes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "process/cgroup_files.h"

namespace accel::process {
namespace {

// A training job has tens of threads for each CPU at most: OpenMP's, those of the loaders, and
// those of NCCL. More than these numbers are therefore an error, even where the kernel has room for
// them.
constexpr int64_t kMostForEachCpu = 1024;
constexpr int64_t kMostForFewCpus = 16384;

}  // namespace

ProcessRoom ReadProcessRoom(std::optional<int64_t> group) {
  const auto number = [](const char* path) {
    return NumberIn(ReadGroupFile(AT_FDCWD, path)).value_or(0);
  };
  return {.ids = number("/proc/sys/kernel/pid_max"),
          .threads = number("/proc/sys/kernel/threads-max"),
          .group = group,
          .cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))};
}

int64_t DefaultMaxProcesses(const ProcessRoom& room) {
  int64_t limit = kMostMaxProcesses;
  for (const int64_t most : {room.ids, room.threads, room.group.value_or(0)}) {
    if (most > 0) limit = std::min(limit, most * 3 / 4);
  }
  limit = std::min(limit, std::max(kMostForFewCpus, room.cpus * kMostForEachCpu));
  return std::max<int64_t>(limit, kLeastMaxProcesses);
}

}  // namespace accel::process
