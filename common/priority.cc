#include "common/priority.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

namespace accel::common {
namespace {

constexpr int kDaemonNice = -10;

}  // namespace

int RaiseDaemonPriority() {
  errno = 0;
  const int before = getpriority(PRIO_PROCESS, 0);  // -1 is also a nice value.
  if (errno != 0) return 0;
  // If this fails, the process keeps its priority.
  if (before == 0) setpriority(PRIO_PROCESS, 0, kDaemonNice);
  return std::max(before, 0);
}

void LowerThreadPriority() {
  // In Linux each thread has its own nice value.
  if (getpriority(PRIO_PROCESS, 0) < 0) setpriority(PRIO_PROCESS, 0, 0);
}

}  // namespace accel::common
