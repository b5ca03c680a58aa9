// Which signals reach the shim, and how.
#pragma once

#include "common/unique_fd.h"

namespace accel::shim {

// SIGTERM and SIGCHLD go to the descriptor that is returned (invalid: none left). What a terminal
// sends to everyone is ignored: the job ends by end-of-file on the control socket, never by that.
common::UniqueFd TakeShimSignals();

// Whether SIGHUP is ignored now; asked before TakeShimSignals(), it tells of nohup.
bool HangupIsIgnored();

}  // namespace accel::shim
