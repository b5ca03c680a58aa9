// From flags and environment to the coordinator's client.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "cli/connection_flags.h"
#include "cli/coordinator_client.h"

namespace accel::cli {

// FAILED_PRECONDITION: no usable token, or an address that is refused, with the remedy.
// INVALID_ARGUMENT: the address is not HOST:PORT.
absl::StatusOr<std::unique_ptr<CoordinatorClient>> ConnectToCoordinator(
    const ConnectionFlags& flags);

}  // namespace accel::cli
