// The one-time key that an administrator passes to a new node or user:
//
//   accel1.HOST:PORT.ID.SECRET.PIN.CHECK
//
// ID names the token, and SECRET is its secret part. PIN is the hash of the authority's key. By it
// the newcomer recognizes the coordinator before it sends the secret. CHECK is a checksum, which
// finds errors of copying.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace accel::security {

inline constexpr size_t kTokenIdDigits = 16;
inline constexpr size_t kTokenSecretBytes = 16;
inline constexpr size_t kMaxJoinStringBytes = 512;

struct JoinString {
  std::string address;   // HOST:PORT of the coordinator, as common/host_port.h reads it.
  std::string token_id;  // 16 digits of a-f and 0-9.
  std::string secret;    // 16 bytes.
  std::string pin;       // 32 bytes: PinOf() the authority.
  bool operator==(const JoinString&) const = default;
};

std::string FormatJoinString(const JoinString& key);

// Parses a key. Ignores white space around it. INVALID_ARGUMENT: `text` is not a key. The message
// says what is wrong, but contains no part of the text, because the text may be secret.
absl::StatusOr<JoinString> ParseJoinString(absl::string_view text);

}  // namespace accel::security
