#include "common/listen_address.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace accel {

std::string ListenAddress::ToString() const {
  const bool v6 = absl::StrContains(host, ":");
  return absl::StrCat(v6 ? "[" : "", host, v6 ? "]" : "", ":", port);
}

absl::StatusOr<ListenAddress> ParseLoopbackAddress(absl::string_view text) {
  const size_t colon = text.rfind(':');
  ListenAddress address;
  if (colon == absl::string_view::npos || colon == 0 ||
      !absl::SimpleAtoi(text.substr(colon + 1), &address.port) || address.port < 0 ||
      address.port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("not HOST:PORT with a port from 0 to 65535: ", text));
  }
  absl::string_view host = text.substr(0, colon);
  if (absl::StartsWith(host, "[") && absl::EndsWith(host, "]")) {
    host = host.substr(1, host.size() - 2);
  }
  address.host = std::string(host);
  // Names that only begin like an address ("127.evil.example") are not loopback.
  const bool v4 = absl::StartsWith(host, "127.") &&
                  host.find_first_not_of("0123456789.") == absl::string_view::npos;
  if (v4 || host == "::1" || host == "localhost") return address;
  return absl::FailedPreconditionError(
      absl::StrCat("will not use ", text,
                   ": this version speaks without encryption and therefore serves this "
                   "machine only; use 127.0.0.1:",
                   address.port));
}

}  // namespace accel
