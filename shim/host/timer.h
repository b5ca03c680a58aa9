// A timer as a descriptor, for an event loop.
#pragma once

#include "absl/time/time.h"
#include "common/unique_fd.h"

namespace accel::shim {

common::UniqueFd MakeTimer();
// Makes it readable once, after `in`.
void ArmTimer(const common::UniqueFd& timer, absl::Duration in);
// Makes it unreadable again.
void ClearTimer(const common::UniqueFd& timer);

}  // namespace accel::shim
