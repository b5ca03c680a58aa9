// Decides when an agent renews its certificate, and when it moves its connection to the renewed
// one. Pure: the times come from the caller (agent/certificate_renewal.h).
//
// clang-format off
//   share of the life   0 ──────── 1/3 ──── 2/3 ─────── 1
//   old certificate     │  in use  │ kRenew │ kTryNewest │ refused
//   renewed one                    └ used by the next connection, whenever that is
// clang-format on
//
// A connection that never breaks keeps its old certificate, because no stream is ended only for a
// renewal. But once that certificate has expired, the coordinator refuses each further call on the
// connection. At two thirds of the old certificate's life, the agent therefore makes a call with
// the renewed one. If that call works, the coordinator cuts the old connection, and the agent
// reconnects immediately. If it fails, the old connection remains.
//
// While the cluster's authority is rotated, both steps are due immediately. The coordinator deletes
// the old authority only after new certificates have been used (docs/decisions/0079).
#pragma once

#include <string>

#include "absl/time/time.h"

namespace accel::agent {

// The period in which a certificate is valid.
struct CertificateSpan {
  absl::Time not_before;
  absl::Time not_after;
  bool operator==(const CertificateSpan&) const = default;
};

struct RenewalFacts {
  absl::Time now;   // The monotonic clock.
  absl::Time wall;  // This machine's wall clock, which may be wrong.
  // The certificate of the present connection.
  CertificateSpan present;
  // The same certificate, or a renewed one that no connection uses yet.
  CertificateSpan newest;
  bool newest_is_in_use = true;
  // The coordinator's authorities have changed since the newest certificate
  // was issued (security::IsOutdated()).
  bool newest_is_outdated = false;
  // The authority that issues certificates now did not issue the present one.
  bool present_is_former = false;
};

enum class RenewalStep {
  kNone,
  kRenew,      // Ask for a new certificate.
  kTryNewest,  // Make a call with the newest certificate.
};

// Not thread-safe.
class RenewalPlan {
 public:
  // `jitter`, from 0 to 1, should differ among nodes, so that they do not all renew at
  // the same time.
  explicit RenewalPlan(double jitter) : jitter_(jitter) {}

  RenewalStep Next(const RenewalFacts& facts) const;

  // Note the result of a step that ended at `now`. After a failure, the pause doubles from a minute
  // to an hour. After a success the pause is an hour too, because with a wrong clock even a new
  // certificate can look old. During a rotation the pause after a success is a minute.
  void NoteSuccess(absl::Time now);
  void NoteFailure(absl::Time now);

 private:
  const double jitter_;
  int failures_ = 0;
  absl::Time not_before_ = absl::InfinitePast();  // No step before this time.
  absl::Time succeeded_ = absl::InfinitePast();   // The time of the last success.
};

// Returns true if a certificate expires within a week. An administrator must then act, because
// renewals have failed for long.
bool IsUrgent(const CertificateSpan& span, absl::Time wall);

// Returns "12 days", "3 hours", "5 minutes" or "nothing": how much of a certificate's life is left.
std::string TimeLeft(const CertificateSpan& span, absl::Time wall);

}  // namespace accel::agent
