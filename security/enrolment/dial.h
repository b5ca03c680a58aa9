// Connects a newcomer to one of the addresses of its coordinator.
#pragma once

#include <netdb.h>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/unique_fd.h"

namespace accel::security {

// Connects to the first address of the list that answers. Tries one after another, each for an
// equal share of the time that is left, because a route may drop all packets to one of them.
// `deadline` is by the steady clock. Returns the error of the last address: UNAVAILABLE if it
// refused, DEADLINE_EXCEEDED if it did not answer.
absl::StatusOr<common::UniqueFd> DialFirst(const addrinfo& addresses, absl::Time deadline);

}  // namespace accel::security
