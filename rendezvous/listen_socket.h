// Makes the sockets on which stores listen. A socket is made before its store, because clients may
// connect as soon as a socket listens.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace accel::rendezvous {

// Returns a TCP socket that is bound to `address` and listens with the largest backlog that the
// system allows. It is non-blocking and close-on-exec. `address` must be a numeric IPv4 or IPv6
// address, because names are not resolved. If `port` is 0, the kernel picks a free port. Errors:
//
// * InvalidArgument: `address` is not numeric.
// * AlreadyExists: the port is in use.
// * The code of the errno of the call that failed, for all others.
absl::StatusOr<common::UniqueFd> ListenOn(const std::string& address, uint16_t port = 0);

// Returns the port to which a socket is bound. InvalidArgument: it is not a bound TCP socket.
absl::StatusOr<uint16_t> PortOf(const common::UniqueFd& socket);

}  // namespace accel::rendezvous
