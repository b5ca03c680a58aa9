// The authority of one `accel launch` on several machines, derived from a secret that all of them
// have. Each machine computes the same certificate, byte for byte, so none must be sent, and a peer
// with another secret fails stock verification.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "security/issue.h"

namespace accel::security {

// Returns HKDF-SHA256 of the secret: `bytes` bytes. INTERNAL: OpenSSL failed.
absl::StatusOr<std::string> Hkdf(absl::string_view secret, absl::string_view salt,
                                 absl::string_view info, size_t bytes);

// Returns the Ed25519 authority of this secret and `info`, which names the launch. All fields of
// its certificate are constant. INTERNAL: OpenSSL failed.
absl::StatusOr<Authority> DeriveAuthority(absl::string_view secret, absl::string_view info);

}  // namespace accel::security
