#include "common/descriptors.h"

#include <algorithm>

#include "common/check.h"

namespace accel::common {
namespace {

constexpr rlim_t kMaxDescriptors = 1 << 20;

rlimit Get() {
  rlimit limit{};
  ACCEL_CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0, "the arguments are valid");
  return limit;
}

}  // namespace

int DescriptorLimit() { return static_cast<int>(std::min(Get().rlim_cur, kMaxDescriptors)); }

rlimit RaiseDescriptorLimit() {
  const rlimit before = Get();
  const rlimit raised{before.rlim_max, before.rlim_max};
  // If this fails, the process keeps its limit.
  setrlimit(RLIMIT_NOFILE, &raised);
  return before;
}

}  // namespace accel::common
