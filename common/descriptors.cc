#include "common/descriptors.h"

#include <sys/resource.h>

#include <algorithm>

#include "common/check.h"

namespace accel {
namespace {

constexpr rlim_t kMost = 1 << 20;

rlimit Get() {
  rlimit limit{};
  ACCEL_CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0, "the arguments are valid");
  return limit;
}

}  // namespace

int DescriptorLimit() { return static_cast<int>(std::min(Get().rlim_cur, kMost)); }

int RaiseDescriptorLimit() {
  rlimit limit = Get();
  limit.rlim_cur = limit.rlim_max;
  // If it cannot be raised, the process goes on with what it has.
  setrlimit(RLIMIT_NOFILE, &limit);
  return DescriptorLimit();
}

}  // namespace accel
