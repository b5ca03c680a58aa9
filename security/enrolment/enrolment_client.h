// The newcomer's side of enrolment (docs/decisions/0055):
//
// clang-format off
//   newcomer                                    coordinator
//      │  "ACCELEN1"                                 │
//      │  TLS 1.3 ─────────────────────────────────▶ │
//      │ ◀──────────────────── leaf and authority    │   the newcomer compares the pin
//      │  token, certificate request ──────────────▶ │   the coordinator commits
//      │ ◀───────────── certificate, or a sentence   │
// clang-format on
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "security/enrolment/enrolment_frames.h"
#include "security/enrolment/join_string.h"

namespace accel::security {

// Returns the server name that a newcomer sends in its TLS handshake. During a rotation there
// are join keys with the pin of either authority. By this name the server chooses the
// certificate to present.
std::string ServerNameOfPin(absl::string_view pin);

// The first bytes of a connection, by which a coordinator distinguishes enrolment from gRPC.
inline constexpr char kEnrolmentPreface[] = "ACCELEN1";
inline constexpr size_t kEnrolmentPrefaceBytes = 8;

// Connects to the coordinator of `key`, and sends the request with the token of `key`. Sends the
// token only to a server whose certificate the pinned authority has signed. Certificates are
// verified at the time `wall`. Blocks for at most `timeout`, unless looking up the name of the host
// takes longer. Returns an accepted answer. Errors:
//   UNAVAILABLE, DEADLINE_EXCEEDED: no coordinator answers, or the answer was lost. Try again
//     with the same key pair: the coordinator gives the same answer.
//   FAILED_PRECONDITION: the server has another authority, or its certificate is not valid now.
//   INVALID_ARGUMENT: also if the address in `key` or the answer is malformed.
//   INTERNAL: also if OpenSSL failed.
//   Otherwise the codes are refusals of the coordinator, with its message.
absl::StatusOr<EnrolmentAnswer> Enrol(const JoinString& key, EnrolmentRequest request,
                                      absl::Time wall, absl::Duration timeout);

}  // namespace accel::security
