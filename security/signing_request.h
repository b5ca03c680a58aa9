// Requests to sign a key (CSR, PKCS#10 in DER). A request proves that its sender has the key, and
// says nothing else: who the sender is decides the token or the certificate that comes with it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "security/key.h"

namespace accel::security {

inline constexpr size_t kMaxRequestBytes = 4096;

// Makes a request for a key. INTERNAL: OpenSSL failed.
absl::StatusOr<std::string> MakeRequest(const PrivateKey& key);

// Returns the key of a request. Its subject and extensions are ignored. INVALID_ARGUMENT: it is
// longer than 4 KiB, not a request, followed by other bytes, for another kind of key than P-256 or
// Ed25519, or not signed with that key.
absl::StatusOr<PublicKey> CheckRequest(absl::string_view der);

}  // namespace accel::security
