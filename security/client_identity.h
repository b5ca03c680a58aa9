// The identity of a client: the key and certificate that it presents to a coordinator, and the
// authorities that it trusts.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace accel::security {

// Each is PEM.
struct ClientIdentity {
  std::string key;
  std::string certificate;
  // The authorities that may have signed the coordinator's certificate.
  std::string authorities;
};

// Checks that the identity can be used now. Agents and commands call this before they connect to a
// cluster. If a server refuses a client in TLS 1.3, gRPC does not pass on the reason.
// FAILED_PRECONDITION: the certificate has expired, or this machine's clock is before its start, or
// the files do not belong together. INVALID_ARGUMENT: a file is damaged. The message ends with "; "
// and what to do: to set the clock if that is before the start, otherwise `remedy`, for example
// "run: accel login".
absl::Status CheckIdentity(const ClientIdentity& identity, absl::string_view remedy,
                           absl::Time now);

}  // namespace accel::security
