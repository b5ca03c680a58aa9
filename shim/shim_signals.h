// Which signals a shim receives, and how.
#pragma once

#include "common/unique_fd.h"

namespace accel::shim {

// Blocks SIGTERM and SIGCHLD and returns a descriptor that receives them (invalid if none is left).
// Ignores the signals that a terminal sends to all processes, because a shim ends its job when the
// control socket closes.
common::UniqueFd TakeShimSignals();

// Returns true if SIGHUP is ignored. Called before TakeShimSignals(), this tells whether nohup
// started the program.
bool HangupIsIgnored();

}  // namespace accel::shim
