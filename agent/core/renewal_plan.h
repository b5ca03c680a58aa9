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
// renewal. But each further call on it is refused once that certificate has expired, so at two
// thirds of its life the agent makes a call with the renewed one. If that call works, the
// coordinator cuts the old connection, and the agent is back at once. If it fails, nothing has
// changed.
//
// While the cluster's authority is rotated, both steps are due immediately. The coordinator deletes
// the old authority only when it has seen that the new certificates work (docs/decisions/0079).
#pragma once

#include <string>

#include "absl/time/time.h"

namespace accel::agent {

// The part of a certificate that the plan depends on.
struct CertificateSpan {
  absl::Time not_before;
  absl::Time not_after;
  bool operator==(const CertificateSpan&) const = default;
};

struct RenewalFacts {
  absl::Time now;           // The monotonic clock.
  absl::Time wall;          // This machine's wall clock, which may be wrong.
  CertificateSpan present;  // That of the present connection.
  CertificateSpan newest;   // The same, or a renewed one that no connection uses yet.
  bool newest_is_in_use = true;
  // The coordinator would now give another list of authorities, or a certificate of another one
  // (security::IsOutdated()).
  bool newest_is_outdated = false;
  // The present certificate is not of the authority that issues now.
  bool present_is_former = false;
};

enum class RenewalStep {
  kNone,
  kRenew,      // Ask for a new certificate.
  kTryNewest,  // Make a call with the newest one.
};

// Not thread-safe.
class RenewalPlan {
 public:
  // `jitter` from 0 to 1 differs among nodes.
  explicit RenewalPlan(double jitter) : jitter_(jitter) {}

  RenewalStep Next(const RenewalFacts& facts) const;

  // Notes the result of a step that ended at `now`. After a failure, the pause doubles from a
  // minute to an hour. After a success there is an hour's pause too, because with a wrong clock
  // even a new certificate can look old. A rotation that begins or ends waits a minute only.
  void NoteSuccess(absl::Time now);
  void NoteFailure(absl::Time now);

 private:
  const double jitter_;
  int failures_ = 0;
  absl::Time not_before_ = absl::InfinitePast();  // No step before this time.
  absl::Time succeeded_ = absl::InfinitePast();   // When a step succeeded last.
};

// Returns true if a certificate ends so soon that an administrator must act.
bool IsUrgent(const CertificateSpan& span, absl::Time wall);

// Returns "12 days", "3 hours", "5 minutes" or "nothing": how much of a certificate's life is left.
std::string TimeLeft(const CertificateSpan& span, absl::Time wall);

}  // namespace accel::agent
