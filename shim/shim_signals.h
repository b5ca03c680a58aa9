// Sets how a shim treats signals.
#pragma once

#include "common/unique_fd.h"

namespace accel::shim {

// Blocks SIGTERM and SIGCHLD and returns a descriptor that receives them (invalid if none is left).
// Ignores the signals that a terminal sends to all processes, because a shim ends its job by the
// rules of its connection instead.
common::UniqueFd TakeShimSignals();

// Returns true if SIGHUP is ignored. Must be called before TakeShimSignals(), which ignores SIGHUP
// itself. The result then tells whether nohup has started the program.
bool HangupIsIgnored();

}  // namespace accel::shim
