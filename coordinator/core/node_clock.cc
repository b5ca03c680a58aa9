#include "coordinator/core/node_clock.h"

#include <algorithm>

namespace accel::coordinator {
namespace {

// Two monotonic clocks may drift apart by this fraction of the time: 100 ppm. No working oscillator
// exceeds it, with or without corrections by the time service.
constexpr int64_t kDriftDivisor = 10'000;

// Within this time the drift amounts to 6 ms.
constexpr absl::Duration kAnswerEvery = absl::Minutes(1);

absl::Duration Drift(absl::Time since, absl::Time now) {
  return std::max(now - since, absl::ZeroDuration()) / kDriftDivisor;
}

}  // namespace

void NodeClock::Sent(uint64_t version, absl::Time now) {
  sent_version_ = version;
  sent_at_ = now;
}

void NodeClock::Heard(const v1::NodeObserved& report, absl::Time arrived) {
  if (report.made_us() <= 0 || report.answered_us() > report.made_us()) return;
  const absl::Duration most = arrived - absl::FromUnixMicros(report.made_us());
  if (!most_ || most <= most_->offset + Drift(most_->since, arrived)) most_ = {most, arrived};
  if (report.answered_us() > 0 && sent_version_ != 0 && report.applied_version() == sent_version_) {
    sent_version_ = 0;
    const absl::Duration least = sent_at_ - absl::FromUnixMicros(report.answered_us());
    if (!least_ || least >= least_->offset - Drift(least_->since, sent_at_)) {
      least_ = {least, sent_at_};
    }
  }
  if (!least_ || least_->offset - Drift(least_->since, arrived) <=
                     most_->offset + Drift(most_->since, arrived)) {
    return;
  }
  // The bounds contradict each other. Either the node's clock has stood still, for example because
  // its host was suspended, or the node sends wrong times. Only the bound of this report is kept.
  least_.reset();
  most_ = {most, arrived};
}

bool NodeClock::NeedsAnswer(absl::Time now) const { return now - sent_at_ >= kAnswerEvery; }

TimeRange NodeClock::When(absl::Time shown, absl::Time now) const {
  TimeRange range = {absl::InfinitePast(), absl::InfiniteFuture()};
  if (least_) range.earliest = shown + least_->offset - Drift(least_->since, now);
  if (most_) range.latest = shown + most_->offset + Drift(most_->since, now);
  return range;
}

}  // namespace accel::coordinator
