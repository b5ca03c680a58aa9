// Connects a command to its coordinator.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "cli/connection_flags.h"
#include "cli/coordinator_client.h"

namespace accel::cli {

// Returns a client for the coordinator, without sending anything. The coordinator is the one that
// the flags or else ACCEL_COORDINATOR name. If neither does, it is the one of the user's last
// login, or else the one at the Unix socket of this machine. FAILED_PRECONDITION: the user has
// not logged in at this coordinator, or the socket's folder is not safe; the message says what to
// do. INVALID_ARGUMENT: the address is neither HOST:PORT nor unix:PATH.
absl::StatusOr<std::unique_ptr<CoordinatorClient>> ConnectToCoordinator(
    const ConnectionFlags& flags);

}  // namespace accel::cli
