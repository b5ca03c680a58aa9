// The address at which a coordinator serves, and at which daemons and commands look for it. It is a
// Unix socket of this machine, or a TCP address.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/host_port.h"

namespace accel::common {

struct CoordinatorAddress {
  std::string socket;  // Absolute path of a Unix socket. Empty for TCP.
  HostPort tcp;        // Meaningless if `socket` is set.

  bool is_local() const { return !socket.empty(); }
};

// Maximum length of a socket's path in the kernel.
inline constexpr size_t kMaxSocketPath = 107;

// Parses "unix:PATH", with an absolute path, or HOST:PORT. INVALID_ARGUMENT: it is neither, or the
// path is longer than kMaxSocketPath; the message says what is wrong.
absl::StatusOr<CoordinatorAddress> ParseCoordinatorAddress(const std::string& text);

// Returns the path at which a coordinator of this user listens by default: /run/accel/coordinator
// for root, otherwise $XDG_RUNTIME_DIR/accel/coordinator, or ~/.config/accel/run/coordinator
// without that variable. FAILED_PRECONDITION: there is no home directory.
absl::StatusOr<std::string> DefaultSocketPath();

// Returns the text of the address that a command or agent must use. It is the first of these that
// is not empty: `flag`, ACCEL_COORDINATOR, "unix:" with DefaultSocketPath(). FAILED_PRECONDITION:
// as for DefaultSocketPath().
absl::StatusOr<std::string> FindCoordinator(const std::string& flag);

// Returns the path at which a coordinator must listen. It is the first of these that is set:
// `flag`, the path in ACCEL_COORDINATOR if that is "unix:PATH", DefaultSocketPath().
// INVALID_ARGUMENT: the path is not absolute or too long. FAILED_PRECONDITION: as for
// DefaultSocketPath().
absl::StatusOr<std::string> FindSocketPath(const std::string& flag);

}  // namespace accel::common
