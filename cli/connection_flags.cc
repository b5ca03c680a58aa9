#include "cli/connection_flags.h"

#include "absl/strings/str_cat.h"
#include "common/coordinator_address.h"
#include "common/socket_folder.h"
#include "common/status_macros.h"

namespace accel::cli {

void AddConnectionFlags(FlagSet* flags, ConnectionFlags* to) {
  flags->Text(
      "coordinator", "ADDRESS",
      "the coordinator, HOST:PORT or unix:PATH (default: ACCEL_COORDINATOR, then the "
      "default cluster of `accel login`, then the Unix socket of this machine's coordinator)",
      &to->coordinator);
}

absl::Status CheckSocketAddress(const std::string& address) {
  ACCEL_ASSIGN_OR_RETURN(const common::CoordinatorAddress local,
                         common::ParseCoordinatorAddress(address));
  if (!local.is_local()) {
    return absl::InvalidArgumentError(absl::StrCat(address, " is no Unix socket"));
  }
  const absl::Status folder = common::CheckSocketFolder(local.socket);
  // Without the folder there is no coordinator, which the call will say.
  return absl::IsNotFound(folder) ? absl::OkStatus() : folder;
}

}  // namespace accel::cli
