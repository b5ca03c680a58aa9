// What a client shows a coordinator: its key and certificate, and whom it trusts.
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
  std::string authorities;  // Those that may have signed the coordinator's certificate.
};

// Checks that the identity can be used now. A server that refuses a client in TLS 1.3 gives no
// reason that gRPC would pass on, so each client calls this before it connects.
// FAILED_PRECONDITION: the certificate has expired, or this machine's clock is before its start, or
// the files do not belong together. INVALID_ARGUMENT: a file is damaged. The message says what to
// do; `remedy` completes the sentence after "; ", for example "run: accel login".
absl::Status CheckIdentity(const ClientIdentity& identity, absl::string_view remedy,
                           absl::Time now);

}  // namespace accel::security
