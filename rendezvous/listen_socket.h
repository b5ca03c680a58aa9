// The sockets that stores listen on: made early, since clients may connect as soon as one exists.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace accel::rendezvous {

// A TCP socket bound to `address` (numeric IPv4 or IPv6: no name is looked up) and listening, with
// the largest backlog that the system allows; non-blocking, closed on exec. Port 0: a free one.
// InvalidArgument: not a numeric address. AlreadyExists: the port is taken. Otherwise the code of
// the errno of the call that failed.
absl::StatusOr<common::UniqueFd> ListenOn(const std::string& address, uint16_t port = 0);

// The port that a socket is bound to. InvalidArgument: not a bound TCP socket.
absl::StatusOr<uint16_t> PortOf(const common::UniqueFd& socket);

}  // namespace accel::rendezvous
