#include "cli/connection_flags.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/coordinator_address.h"
#include "common/loopback.h"
#include "common/socket_folder.h"
#include "common/status_macros.h"

namespace accel::cli {

void AddConnectionFlags(FlagSet* flags, ConnectionFlags* to) {
  flags->Text("coordinator", "ADDRESS",
              "the coordinator, HOST:PORT or unix:PATH (default: ACCEL_COORDINATOR, then the Unix "
              "socket of this machine's coordinator)",
              &to->coordinator);
  flags->Text("token_file", "PATH",
              "the cluster's token, for HOST:PORT (default: ACCEL_TOKEN, then "
              "~/.config/accel/token)",
              &to->token_file);
}

absl::StatusOr<std::string> GrpcTarget(absl::string_view address) {
  if (absl::StartsWith(address, "unix:")) {
    ACCEL_ASSIGN_OR_RETURN(const common::CoordinatorAddress local,
                           common::ParseCoordinatorAddress(std::string(address)));
    const absl::Status folder = common::CheckSocketFolder(local.socket);
    // Without the folder there is no coordinator, which the call will say.
    if (!folder.ok() && !absl::IsNotFound(folder)) return folder;
    return std::string(address);
  }
  const size_t colon = address.rfind(':');
  uint32_t port = 0;
  if (colon == absl::string_view::npos || colon == 0 ||
      !absl::SimpleAtoi(address.substr(colon + 1), &port) || port < 1 || port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("the coordinator \"", address,
                     "\" must be HOST:PORT or unix:PATH, for example 127.0.0.1:7337"));
  }
  const absl::string_view host = address.substr(0, colon);
  if (host == "localhost") return absl::StrCat("dns:///", address);
  if (host == "[::1]") return absl::StrCat("ipv6:", address);
  if (host.find(':') == absl::string_view::npos && common::IsLoopback(std::string(host))) {
    return absl::StrCat("ipv4:", address);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the coordinator \"", address,
      "\" is on another machine, which asks for a certificate; ask an administrator for a key, and "
      "run: accel login"));
}

}  // namespace accel::cli
