// When a client renews its certificate: pure, so that agents and commands decide alike.
#pragma once

#include "absl/time/time.h"

namespace accel::security {

// Returns when a certificate that is valid from `not_before` to `not_after` must be renewed: after
// a third of its life, so that two thirds are left for attempts. `jitter` from 0 to 1 adds up to a
// tenth of the life, because many nodes may have joined in the same hour.
absl::Time RenewalTime(absl::Time not_before, absl::Time not_after, double jitter);

// Returns when a client must use its renewed certificate, although a connection with the old one
// still works: after two thirds of the old one's life. Calls with an expired one are refused.
absl::Time SwitchTime(absl::Time not_before, absl::Time not_after);

}  // namespace accel::security
