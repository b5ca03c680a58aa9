// Decides when a client renews its certificate, in the same way for agents and commands. Pure.
#pragma once

#include "absl/time/time.h"

namespace accel::security {

// Returns when a certificate that is valid from `not_before` to `not_after` must be renewed. That
// is after a third of its life, so that two thirds are left for further attempts. `jitter` from 0
// to 1 adds up to a tenth of the life, because many nodes may have joined in the same hour.
absl::Time RenewalTime(absl::Time not_before, absl::Time not_after, double jitter);

// Returns when a client must use its renewed certificate, even if its connection with the old one
// works. That is after two thirds of the old certificate's life, because calls with an expired
// certificate are refused.
absl::Time SwitchTime(absl::Time not_before, absl::Time not_after);

}  // namespace accel::security
