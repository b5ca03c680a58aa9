// Requests to sign a key (CSR, PKCS#10 in DER). A request proves only that its sender has the key.
// The token or certificate that is sent with it tells who the sender is.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "security/key.h"

namespace accel::security {

inline constexpr size_t kMaxRequestBytes = 4096;

// Makes a request for a key. INTERNAL: OpenSSL failed.
absl::StatusOr<std::string> MakeRequest(const PrivateKey& key);

// Returns the key of a request. Ignores the request's subject and extensions. INVALID_ARGUMENT:
// `der` is longer than 4 KiB or is not exactly one request. Or its key is neither P-256 nor
// Ed25519, or has not signed the request.
absl::StatusOr<PublicKey> CheckRequest(absl::string_view der);

}  // namespace accel::security
