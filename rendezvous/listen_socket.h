// Makes the sockets that stores listen on. They are made early, because clients may connect as soon
// as a socket listens.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace accel::rendezvous {

// Returns a TCP socket that is bound to `address` and listens with the largest backlog that the
// system allows. It is non-blocking and close-on-exec. `address` must be a numeric IPv4 or IPv6
// address, because names are not resolved. If `port` is 0, the kernel picks a free one.
// InvalidArgument: not a numeric address. AlreadyExists: the port is in use. Otherwise the code of
// the errno of the call that failed.
absl::StatusOr<common::UniqueFd> ListenOn(const std::string& address, uint16_t port = 0);

// Returns the port that a socket is bound to. InvalidArgument: not a bound TCP socket.
absl::StatusOr<uint16_t> PortOf(const common::UniqueFd& socket);

}  // namespace accel::rendezvous
