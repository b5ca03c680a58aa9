// The flags that all commands share: the coordinator's address and the token
// that authenticates them.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/flags.h"

namespace accel::cli {

struct ConnectionFlags {
  // See FindCoordinator() in common/coordinator_address.h.
  std::string coordinator;
  // If empty, the value of ACCEL_TOKEN, or else the file ~/.config/accel/token.
  std::string token_file;
};

void AddConnectionFlags(FlagSet* flags, ConnectionFlags* to);

// Returns HOST:PORT or unix:PATH as a gRPC target. Numeric addresses become ipv4: or ipv6: targets
// because gRPC's DNS resolver takes longer than the rest of a call. INVALID_ARGUMENT: it is
// neither. FAILED_PRECONDITION: the host is beyond loopback, or other users can make a socket at
// that path.
absl::StatusOr<std::string> GrpcTarget(absl::string_view address);

}  // namespace accel::cli
