#include "cli/connect.h"

#include <string>

#include "absl/strings/match.h"
#include "common/coordinator_address.h"
#include "common/status_macros.h"
#include "common/token.h"

namespace accel::cli {
namespace {

// Returns the token for a coordinator at HOST:PORT. Any error becomes FAILED_PRECONDITION, because
// INVALID_ARGUMENT would exit with 2, which means wrong usage.
absl::StatusOr<std::string> Token(const ConnectionFlags& flags) {
  absl::StatusOr<std::string> token = common::FindToken(flags.token_file, /*make=*/false);
  if (!token.ok()) return absl::FailedPreconditionError(token.status().message());
  return token;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CoordinatorClient>> ConnectToCoordinator(
    const ConnectionFlags& flags) {
  ACCEL_ASSIGN_OR_RETURN(const std::string address, common::FindCoordinator(flags.coordinator));
  std::string token;
  if (!absl::StartsWith(address, "unix:")) {
    ACCEL_ASSIGN_OR_RETURN(token, Token(flags));
  }
  return CoordinatorClient::Connect(address, token);
}

}  // namespace accel::cli
