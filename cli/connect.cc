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
    // Whatever is wrong with the token, it is not the usage of the command.
    return absl::FailedPreconditionError(token.status().message());
  }
  return CoordinatorClient::Connect(AddressFrom(flags), *token);
}

}  // namespace accel::cli
