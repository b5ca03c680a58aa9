// The authority of one `accel launch` on several machines, derived from a secret that all these
// machines have. Each machine computes the same certificate, byte for byte. The certificate
// therefore need not be sent, and the usual verification refuses a peer with another secret.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "security/issue.h"

namespace accel::security {

// Returns `bytes` bytes of HKDF-SHA256 of the secret. INTERNAL: OpenSSL failed.
absl::StatusOr<std::string> Hkdf(absl::string_view secret, absl::string_view salt,
                                 absl::string_view info, size_t bytes);

// Returns the Ed25519 authority for this secret and `info`, which names the launch. All other
// fields of its certificate are constant. INTERNAL: OpenSSL failed.
absl::StatusOr<Authority> DeriveAuthority(absl::string_view secret, absl::string_view info);

}  // namespace accel::security
