// What a newcomer and a coordinator say to each other during enrolment, inside TLS: one request and
// one answer. Each is a frame of at most 8 KiB after its length (4 bytes, big-endian).
//
// A frame is a sequence of fields in a fixed order, each a length (2 bytes, big-endian) and bytes.
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
  std::string secret;   // 16 bytes.
  std::string csr;      // See signing_request.h.
  std::string id;       // The node's id, which it keeps. Empty for a user.
  std::string name;     // The node's name. Empty for a user, whose name the token has.
  std::string label;    // The name of the machine, for people.
  std::string version;  // Of accel, for the log.
  bool operator==(const EnrolmentRequest&) const = default;
};

struct EnrolmentAnswer {
  absl::Status refusal;     // If not OK, the other fields are empty.
  std::string certificate;  // PEM.
  std::string authorities;  // PEM: the cluster's authority; two during a rotation.
  std::string cluster;      // The cluster's id.
  std::string name;         // The principal's name: the node's id, or the user's name.
};

// The encoding without the length before it.
std::string EncodeRequest(const EnrolmentRequest& request);
std::string EncodeAnswer(const EnrolmentAnswer& answer);

// INVALID_ARGUMENT: the bytes are not such a frame; the message says why and contains none of them.
absl::StatusOr<EnrolmentRequest> DecodeRequest(absl::string_view frame);
absl::StatusOr<EnrolmentAnswer> DecodeAnswer(absl::string_view frame);

}  // namespace accel::security
