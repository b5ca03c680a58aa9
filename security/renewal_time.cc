#include "security/renewal_time.h"

#include <algorithm>

namespace accel::security {
namespace {

constexpr double kJitterShare = 0.1;

}  // namespace

absl::Time RenewalTime(absl::Time not_before, absl::Time not_after, double jitter) {
  const absl::Duration life = not_after - not_before;
  return not_before + life / 3 + life * (kJitterShare * std::clamp(jitter, 0.0, 1.0));
}

absl::Time SwitchTime(absl::Time not_before, absl::Time not_after) {
  return not_before + (not_after - not_before) * 2 / 3;
}

}  // namespace accel::security
