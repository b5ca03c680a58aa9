// Bounds how far a node's monotonic clock is from the coordinator's, so that the time of an exit on
// one node can be compared with one on another (docs/decisions/0044).
//
// Each message gives one bound, because nothing arrives before it is sent. A report that the node
// made at M (its clock) and that arrived at A (ours) shows that the offset is at most A - M. A
// desired state that was sent at S (ours) and arrived at R (its clock) shows that it is at least
// S - R. The tightest bounds count: they are those of the shortest way there and back. A message
// that was late, because a link was slow or a process was stopped, therefore spoils nothing.
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

// Something happened between these two times of the coordinator's monotonic clock.
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

  // Returns true if the node should be sent its desired state again, although that is the same,
  // because the bound of the last one has become loose.
  bool NeedsAnswer(absl::Time now) const;

  // Returns when the node's clock showed `shown`, as known at `now`. A side without a bound is
  // infinite.
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
