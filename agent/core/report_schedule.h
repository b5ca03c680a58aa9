// Decides when an agent reports: at each change of its node, and otherwise at each heartbeat. A
// change that says only that generations start may wait for their workers (docs/decisions/0088).
// Pure. Not thread-safe.
#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace accel::agent {

// Heartbeats end on multiples of this time of the wall clock (docs/decisions/0091).
inline constexpr absl::Duration kBeat = absl::Milliseconds(100);

// Returns the time from `wall` until the next heartbeat, which is due after `longest` at the
// latest. It ends on a beat, unless `longest` is shorter than two beats.
absl::Duration UntilHeartbeat(absl::Time wall, absl::Duration longest);

// A state of the node is named by its revision: see NodeState::revision().
class ReportSchedule {
 public:
  // The longest time for which a report is held. Workers usually run within a few milliseconds.
  static constexpr absl::Duration kLongestHold = absl::Milliseconds(20);

  // Returns true if this state has been reported, or its report is being held.
  bool MayWait(uint64_t revision) const;

  // Lets the report of this state wait until the state changes again, or until kLongestHold has
  // passed since the first Hold() after a report. A heartbeat is not delayed.
  void Hold(uint64_t revision, absl::Time now);

  // Returns when the report of this state must be sent. InfinitePast if it must be sent now.
  absl::Time Due(uint64_t revision) const;

  // Notes that this state has been reported. The next heartbeat follows after `heartbeat`.
  void Sent(uint64_t revision, absl::Time now, absl::Duration heartbeat);

  // Makes the next report due, because the coordinator of a new session has none.
  void StartSession() { heartbeat_at_ = absl::InfinitePast(); }

 private:
  bool IsHeld(uint64_t revision) const { return holds_ && revision == held_; }

  uint64_t reported_ = 0;  // No state has this revision.
  absl::Time heartbeat_at_ = absl::InfinitePast();
  bool holds_ = false;
  uint64_t held_ = 0;
  absl::Time held_until_;
};

}  // namespace accel::agent
