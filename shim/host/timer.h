// A timer for an event loop: a descriptor that becomes readable at a set time.
#pragma once

#include "absl/time/time.h"
#include "common/unique_fd.h"

namespace accel::shim {

common::UniqueFd MakeTimer();
// Makes the timer readable once, after `in`.
void ArmTimer(const common::UniqueFd& timer, absl::Duration in);
// Makes the timer unreadable again.
void ClearTimer(const common::UniqueFd& timer);

}  // namespace accel::shim
