// SHA-256, and the comparison of secrets' hashes.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace accel::security {

inline constexpr size_t kSha256Bytes = 32;

// Returns the hash, 32 bytes.
std::string Sha256(absl::string_view bytes);

// Returns whether two strings are equal. Takes the same time for all candidates of one length.
bool EqualSecrets(absl::string_view secret, absl::string_view candidate);

}  // namespace accel::security
