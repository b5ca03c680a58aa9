// The node or user of a cluster that a certificate identifies. The certificate has it as a URI. The
// coordinator's table decides what the node or user may do.
//
//   spiffe://CLUSTER/node/NODE_ID/SERIAL
//   spiffe://CLUSTER/user/NAME/SERIAL
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace accel::security {

enum class PrincipalKind { kNode, kUser };

// Maximum sizes of the parts, in bytes, and of the URI.
inline constexpr size_t kMaxClusterBytes = 64;
inline constexpr size_t kMaxPrincipalNameBytes = 128;
inline constexpr size_t kSerialDigits = 32;
inline constexpr size_t kMaxPrincipalUriBytes = 256;

struct Principal {
  std::string cluster;  // 1 to 64 of a-z, 0-9, '-', '_', '.'.
  PrincipalKind kind = PrincipalKind::kNode;
  std::string name;    // The node's id or the user's name: see CheckPrincipalName().
  std::string serial;  // 32 digits of a-f and 0-9: the serial number of the certificate.
  bool operator==(const Principal&) const = default;
};

// Returns "node" or "user".
absl::string_view KindText(PrincipalKind kind);

// Checks a name. INVALID_ARGUMENT: the name is not 1 to 128 of a-z, A-Z, 0-9, '-', '_', '.', or it
// starts with '-' or '.'. The message begins with `what`.
absl::Status CheckPrincipalName(absl::string_view what, absl::string_view name);

// Returns the URI of a valid principal.
std::string PrincipalUri(const Principal& principal);

// Parses a URI. INVALID_ARGUMENT: no certificate of accel has such a URI; the message names
// the wrong part.
absl::StatusOr<Principal> ParsePrincipal(absl::string_view uri);

}  // namespace accel::security
