#include "agent/core/report_schedule.h"

#include <algorithm>

namespace accel::agent {

absl::Duration UntilHeartbeat(absl::Time wall, absl::Duration longest) {
  if (longest < 2 * kBeat || longest == absl::InfiniteDuration()) return longest;
  return longest - (wall + longest - absl::UnixEpoch()) % kBeat;
}

bool ReportSchedule::MayWait(uint64_t revision) const {
  return revision == reported_ || IsHeld(revision);
}

void ReportSchedule::Hold(uint64_t revision, absl::Time now) {
  if (revision == reported_) return;
  if (!holds_) held_until_ = now + kLongestHold;
  holds_ = true;
  held_ = revision;
}

absl::Time ReportSchedule::Due(uint64_t revision) const {
  if (revision == reported_) return heartbeat_at_;
  return IsHeld(revision) ? std::min(held_until_, heartbeat_at_) : absl::InfinitePast();
}

void ReportSchedule::Sent(uint64_t revision, absl::Time now, absl::Duration heartbeat) {
  reported_ = revision;
  heartbeat_at_ = now + heartbeat;
  holds_ = false;
}

}  // namespace accel::agent
