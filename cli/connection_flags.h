// Where the coordinator is and what proves that one may talk to it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/flags.h"

namespace accel::cli {

inline constexpr char kDefaultCoordinator[] = "127.0.0.1:7337";

struct ConnectionFlags {
  std::string coordinator;  // HOST:PORT; empty: ACCEL_COORDINATOR, then the default.
  std::string token_file;   // Empty: ACCEL_TOKEN, then ~/.config/accel/token.
};

void AddConnectionFlags(FlagSet* flags, ConnectionFlags* to);

// HOST:PORT as gRPC names it: numeric addresses skip its resolver, which takes longer than the rest
// of a call. INVALID_ARGUMENT: not HOST:PORT. FAILED_PRECONDITION: beyond loopback.
absl::StatusOr<std::string> GrpcTarget(absl::string_view address);

}  // namespace accel::cli
