// Bounds the difference between the monotonic clocks of a node and of the coordinator. With the
// bounds, the times of exits on different nodes can be compared (docs/decisions/0044).
//
// The offset is the coordinator's clock minus the node's. Each message bounds it, because nothing
// arrives before it is sent. A report has the time M at which the node made it, and arrives at the
// coordinator's time A. The offset is then at most A - M. A desired state is sent at the
// coordinator's time S and arrives at the node's time R. The offset is then at least S - R. Only
// the tightest bounds count, which the fastest messages give. A message that was late, because a
// link was slow or a process was stopped, therefore does no harm.
//
// clang-format off
//   coordinator  ----S-------------------A---->     S - R  <=  offset  <=  A - M
//                     \                 /
//   node         ------R-------M-------/----->
// clang-format on
#pragma once

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "proto/node.pb.h"

namespace accel::coordinator {

// The range of times, by the coordinator's monotonic clock, in which something happened.
struct TimeRange {
  absl::Time earliest;
  absl::Time latest;
};

// The clock of one node, as the messages of one stream show it.
class NodeClock {
 public:
  // Notes that this desired state is being sent to the node.
  void Sent(uint64_t version, absl::Time now);
  // Notes a report. Times in it that contradict each other are ignored.
  void Heard(const v1::NodeObserved& report, absl::Time arrived);

  // Returns true if the node must get its desired state again, even if it is unchanged. This is so
  // once a minute, because the bound of the last one becomes loose.
  bool NeedsAnswer(absl::Time now) const;

  // Converts the time `shown` of the node's clock to a range of the coordinator's clock, as known
  // at `now`. A side without a bound is infinite.
  TimeRange When(absl::Time shown, absl::Time now) const;

 private:
  struct Bound {
    absl::Duration offset;  // The coordinator's clock minus the node's.
    absl::Time since;       // When the message was sent or arrived here.
  };

  std::optional<Bound> least_;
  std::optional<Bound> most_;
  uint64_t sent_version_ = 0;  // 0 if it was answered.
  absl::Time sent_at_ = absl::InfinitePast();
};

}  // namespace accel::coordinator
