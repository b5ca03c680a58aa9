// How well a coordinator can know the monotonic clock of a node, computed from what really happened
// to the messages. It is the counterpart of coordinator/core/node_clock.h, which knows only what
// the messages say. A message that took the time D bounds the difference of the clocks to D.
#pragma once

#include <cstdint>
#include <map>

#include "absl/time/time.h"

namespace accel::simulation {

// Not thread-safe. All times are true times, and never decrease from call to call.
class ClockPrecision {
 public:
  struct Known {
    uint64_t stream = 0;  // 0 before the first one.
    // By how much the coordinator may take an event of the node for a later or an earlier one.
    absl::Duration too_late = absl::InfiniteDuration();
    absl::Duration too_early = absl::InfiniteDuration();
  };

  // Notes that a stream begins. The coordinator then knows nothing.
  void Begin(uint64_t stream, absl::Time now);
  // Notes a message of the stream to the coordinator, or to the node, that took this long.
  void CameUp(absl::Duration took, absl::Time now);
  void WentDown(absl::Duration took, absl::Time now);

  // Returns what was known at an earlier time.
  Known At(absl::Time time) const;

 private:
  struct Bound {
    absl::Duration took = absl::InfiniteDuration();
    absl::Time since;

    absl::Duration At(absl::Time time) const;
  };
  struct Entry {
    uint64_t stream = 0;
    Bound up;
    Bound down;
  };

  Entry Newest() const { return entries_.empty() ? Entry() : entries_.rbegin()->second; }

  std::map<absl::Time, Entry> entries_;  // By the time from which each holds.
};

}  // namespace accel::simulation
