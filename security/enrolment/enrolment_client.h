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

// Returns the name of the server that a newcomer sends in its handshake. During a rotation of the
// authority there are join keys with two pins, and the server shows the certificate that fits.
std::string ServerNameOfPin(absl::string_view pin);

// The first bytes of a connection, by which a coordinator tells enrolment from gRPC.
inline constexpr char kEnrolmentPreface[] = "ACCELEN1";
inline constexpr size_t kEnrolmentPrefaceBytes = 8;

// Dials the coordinator of `key` and sends the request with the token of `key`. Sends the token
// only to a server that has proven the pinned authority's signature. `wall` is the time by which
// certificates are verified. Blocks for at most `timeout`. Returns an accepted answer. Errors:
//   UNAVAILABLE, DEADLINE_EXCEEDED: no coordinator answers there, or the answer was lost. Try again
//     with the same key pair: the coordinator gives the same answer.
//   FAILED_PRECONDITION: the server has another authority, or its certificate is not valid now.
//   Others are the coordinator's refusal, with its sentence.
absl::StatusOr<EnrolmentAnswer> Enrol(const JoinString& key, EnrolmentRequest request,
                                      absl::Time wall, absl::Duration timeout);

}  // namespace accel::security
