#include "cli/connect.h"

#include <cstdlib>
#include <string>
#include <utility>

#include "cli/login_files.h"
#include "common/coordinator_address.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

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
  ACCEL_ASSIGN_OR_RETURN(const common::CoordinatorAddress parsed,
                         common::ParseCoordinatorAddress(address));
  if (parsed.is_local()) return CoordinatorClient::Connect(address);
  absl::StatusOr<Login> login = FindLogin(address);
  // INVALID_ARGUMENT would exit with 2, which means wrong usage.
  if (!login.ok()) return absl::FailedPreconditionError(login.status().message());
  return CoordinatorClient::ConnectWithCertificate(address, *std::move(login));
}

}  // namespace accel::cli
