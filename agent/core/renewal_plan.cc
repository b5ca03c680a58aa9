#include "agent/core/renewal_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "security/renewal_time.h"

namespace accel::agent {
namespace {

constexpr absl::Duration kFirstPause = absl::Minutes(1);
constexpr absl::Duration kLongestPause = absl::Hours(1);
constexpr absl::Duration kUrgent = absl::Hours(24 * 7);
constexpr int kMaxDoublings = 10;

}  // namespace

RenewalStep RenewalPlan::Next(const RenewalFacts& facts) const {
  if (facts.now < not_before_) return RenewalStep::kNone;
  const bool is_rotated = facts.newest_is_outdated || facts.present_is_former;
  const absl::Duration pause = is_rotated ? kFirstPause : kLongestPause;
  if (!facts.newest_is_in_use && is_rotated) return RenewalStep::kTryNewest;
  if (facts.now < succeeded_ + pause) return RenewalStep::kNone;
  if (!facts.newest_is_in_use) {
    // Another renewal waits until the newest certificate is in use. The reason is that the
    // coordinator learns only from its use that it has arrived.
    const absl::Time latest =
        security::SwitchTime(facts.present.not_before, facts.present.not_after);
    return facts.wall >= latest ? RenewalStep::kTryNewest : RenewalStep::kNone;
  }
  const absl::Time due =
      security::RenewalTime(facts.newest.not_before, facts.newest.not_after, jitter_);
  return facts.newest_is_outdated || facts.wall >= due ? RenewalStep::kRenew : RenewalStep::kNone;
}

void RenewalPlan::NoteSuccess(absl::Time now) {
  failures_ = 0;
  succeeded_ = now;
}

void RenewalPlan::NoteFailure(absl::Time now) {
  const absl::Duration pause =
      std::min(kFirstPause * (1 << std::min(failures_, kMaxDoublings)), kLongestPause);
  ++failures_;
  // The actual pause is between half of `pause` and all of it, as in common::Backoff.
  not_before_ = now + pause * (0.5 + std::clamp(jitter_, 0.0, 1.0) / 2);
}

bool IsUrgent(const CertificateSpan& span, absl::Time wall) {
  return span.not_after - wall < kUrgent;
}

std::string TimeLeft(const CertificateSpan& span, absl::Time wall) {
  const absl::Duration left = span.not_after - wall;
  if (left <= absl::ZeroDuration()) return "nothing";
  if (left >= absl::Hours(48)) return absl::StrCat(left / absl::Hours(24), " days");
  if (left >= absl::Hours(2)) return absl::StrCat(left / absl::Hours(1), " hours");
  return absl::StrCat(left / absl::Minutes(1), " minutes");
}

}  // namespace accel::agent
