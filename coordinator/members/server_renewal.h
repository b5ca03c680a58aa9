// Decides when a coordinator makes a new certificate for its server. Pure.
#pragma once

#include "absl/time/time.h"
#include "security/issue.h"

namespace accel::coordinator {

// Returns true if a certificate that was made at `made` must be replaced at `now`. This is so after
// half of its life, or if the clock was set back since. In the latter case the clock was ahead when
// the certificate was made. Clients with a right clock refuse a certificate before its start.
inline bool IsServerRenewalDue(absl::Time made, absl::Time now) {
  const absl::Duration age = now - made;
  return age >= security::kServerLife / 2 || age < -security::kBackdate / 2;
}

}  // namespace accel::coordinator
