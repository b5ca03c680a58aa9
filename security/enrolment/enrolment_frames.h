// The two messages of enrolment, which are sent inside TLS: a request of the newcomer and
// an answer of the coordinator. Each is a frame of at most 8 KiB, preceded by its length
// (4 bytes, big-endian).
//
// A frame is a sequence of fields in a fixed order. Each field is its length (2 bytes, big-endian)
// and that many bytes.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "security/principal.h"

namespace accel::security {

inline constexpr size_t kMaxFrameBytes = 8 << 10;

struct EnrolmentRequest {
  PrincipalKind kind = PrincipalKind::kNode;
  std::string token_id;
  std::string secret;  // 16 bytes.
  std::string csr;     // See signing_request.h.
  std::string id;      // The node's id, which it keeps. Empty for a user.
  // The node's name. Empty for a user, whose name is known from the token.
  std::string name;
  std::string label;    // The name of the machine, for people.
  std::string version;  // Of accel, for the log.
  bool operator==(const EnrolmentRequest&) const = default;
};

struct EnrolmentAnswer {
  absl::Status refusal;     // If not OK, the other fields are empty.
  std::string certificate;  // PEM.
  std::string authorities;  // PEM: the cluster's authority, or both during a rotation.
  std::string cluster;      // The cluster's id.
  std::string name;         // The principal's name: the node's id, or the user's name.
};

// Return a frame, without the length that precedes it.
std::string EncodeRequest(const EnrolmentRequest& request);
std::string EncodeAnswer(const EnrolmentAnswer& answer);

// Decode a frame. INVALID_ARGUMENT: the bytes are not such a frame. The message has the reason, but
// none of the bytes, because they may contain a secret.
absl::StatusOr<EnrolmentRequest> DecodeRequest(absl::string_view frame);
absl::StatusOr<EnrolmentAnswer> DecodeAnswer(absl::string_view frame);

}  // namespace accel::security
