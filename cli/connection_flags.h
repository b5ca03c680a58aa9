// The flags that all commands share: the coordinator's address.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "cli/flags.h"

namespace accel::cli {

struct ConnectionFlags {
  // HOST:PORT or unix:PATH. May be empty: see ConnectToCoordinator() in cli/connect.h.
  std::string coordinator;
};

void AddConnectionFlags(FlagSet* flags, ConnectionFlags* to);

// Checks an address unix:PATH. INVALID_ARGUMENT: the address has another form. FAILED_PRECONDITION:
// other users can make a socket at that path.
absl::Status CheckSocketAddress(const std::string& address);

}  // namespace accel::cli
