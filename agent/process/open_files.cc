#include "agent/process/open_files.h"

#include "common/check.h"

namespace accel {

rlimit RaiseOpenFileLimit() {
  rlimit before = {};
  ACCEL_CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0, "a process may read its own limits");
  rlimit raised = before;
  raised.rlim_cur = raised.rlim_max;
  // What the kernel refuses leaves the limit as it was.
  setrlimit(RLIMIT_NOFILE, &raised);
  return before;
}

uint64_t OpenFileLimit() {
  rlimit now = {};
  ACCEL_CHECK(getrlimit(RLIMIT_NOFILE, &now) == 0, "a process may read its own limits");
  return now.rlim_cur;
}

}  // namespace accel
