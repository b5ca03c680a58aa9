#include "cli/connect.h"

#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/login_files.h"
#include "common/coordinator_address.h"
#include "common/loopback.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

// The first administrator has nobody to ask for a key.
constexpr char kSocketInstead[] =
    "; on the coordinator's own machine leave out --coordinator and ACCEL_COORDINATOR, which uses "
    "the Unix socket";

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
  if (!login.ok()) {
    const bool may_be_here =
        absl::IsNotFound(login.status()) && common::IsLoopback(parsed.tcp.host);
    return absl::FailedPreconditionError(
        absl::StrCat(login.status().message(), may_be_here ? kSocketInstead : ""));
  }
  return CoordinatorClient::ConnectWithCertificate(address, *std::move(login));
}

}  // namespace accel::cli
