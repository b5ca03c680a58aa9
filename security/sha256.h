// SHA-256, and a comparison of secrets.
#pragma once

#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace accel::security {

inline constexpr size_t kSha256Bytes = 32;

// Returns the hash, 32 bytes.
std::string Sha256(absl::string_view bytes);

// The hash of bytes that come in pieces. Not thread-safe.
class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  Sha256Stream(Sha256Stream&&) noexcept;
  Sha256Stream& operator=(Sha256Stream&&) noexcept;

  void Add(absl::string_view bytes);
  // Returns the hash as 64 lower-case hexadecimal digits. Called once, after the last Add().
  std::string HexDigest();

 private:
  struct State;

  std::unique_ptr<State> state_;
};

// Returns true if two strings are equal. The time does not depend on the content of strings of one
// length, so that it does not reveal the secret.
bool EqualSecrets(absl::string_view secret, absl::string_view candidate);

}  // namespace accel::security
