#include "cli/connect.h"

#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "cli/login_files.h"
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

// Returns the address that the flags or the environment name, else that of the default cluster,
// else the Unix socket of this machine.
absl::StatusOr<std::string> AddressFor(const ConnectionFlags& flags) {
  const char* const named = std::getenv("ACCEL_COORDINATOR");
  if (flags.coordinator.empty() && (named == nullptr || *named == '\0')) {
    absl::StatusOr<std::string> login = DefaultCoordinator();
    if (!absl::IsNotFound(login.status())) return login;
  }
  return common::FindCoordinator(flags.coordinator);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CoordinatorClient>> ConnectToCoordinator(
    const ConnectionFlags& flags) {
  ACCEL_ASSIGN_OR_RETURN(const std::string address, AddressFor(flags));
  std::string token;
  if (!absl::StartsWith(address, "unix:")) {
    const absl::StatusOr<security::ClientIdentity> login = FindLogin(address);
    if (login.ok()) return CoordinatorClient::ConnectWithCertificate(address, *login);
    if (!absl::IsNotFound(login.status())) {
      return absl::FailedPreconditionError(login.status().message());
    }
    // Beyond loopback a token is of no use, and GrpcTarget() says what is.
    ACCEL_RETURN_IF_ERROR(GrpcTarget(address).status());
    ACCEL_ASSIGN_OR_RETURN(token, Token(flags));
  }
  return CoordinatorClient::Connect(address, token);
}

}  // namespace accel::cli
