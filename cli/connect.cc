#include "cli/connect.h"

#include <stdlib.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/token.h"

namespace accel::cli {
namespace {

std::string AddressFrom(const ConnectionFlags& flags) {
  if (!flags.coordinator.empty()) return flags.coordinator;
  const char* named = ::getenv("ACCEL_COORDINATOR");
  return named == nullptr || *named == '\0' ? kDefaultCoordinator : named;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CoordinatorClient>> ConnectToCoordinator(
    const ConnectionFlags& flags) {
  const absl::StatusOr<std::string> token = common::FindToken(flags.token_file, /*make=*/false);
  if (!token.ok()) {
    // Any error about the token becomes FAILED_PRECONDITION, because INVALID_ARGUMENT would exit
    // with 2, which means wrong usage.
    return absl::FailedPreconditionError(token.status().message());
  }
  return CoordinatorClient::Connect(AddressFrom(flags), *token);
}

}  // namespace accel::cli
