// Finds the rank that hangs among the ranks of one generation on one node, from the signs of
// progress (beats) that the ranks send (docs/decisions/0097). Pure: no process, no clock, no file.
//
// A rank hangs if it has sent a beat before, and then none for longer than its limit:
//
//   limit = max(hang timeout, 3 × longest time between two of its beats)
//
// The second term keeps a timeout that is shorter than a step from ending a healthy job.
//
// A rank that says that it pauses has no limit until its next beat. A checkpoint may take any time
// on a slow disk.
//
// If one rank hangs, soon all ranks send no beats, because the others wait for it in collectives.
// The rank that is named is therefore, in this order:
//
// 1. A rank whose process is stopped (state T or t), because it can be no victim. It need not have
//    sent beats: in many programs only rank 0 does.
// 2. A rank over its limit that has not said that it waits for other ranks. A rank that says so is
//    over its limit only after one and a half times that limit, so that the node of the rank that
//    hangs reports first.
// 3. The rank with the earliest last beat.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "absl/time/time.h"

namespace accel::shim {

struct Hang {
  int rank = 0;
  // nullopt if the rank is stopped and has never sent a beat.
  std::optional<absl::Time> last_beat;
  absl::Duration silence;  // How long no beat has come from the rank that was over its limit.
  char state = 0;          // The state of the rank's process, as in /proc.
  bool waits = false;      // The rank has said that it waits for other ranks.
};

// Not thread-safe. All times are of the monotonic clock. A beat may be read a little later than a
// look that was made at a later time, so times may go back by that much.
class Progress {
 public:
  // Returns the state of a rank's process, as in /proc, or 0 if it has ended.
  using StateOf = std::function<char(int rank)>;

  Progress(absl::Duration hang_timeout, const std::vector<int>& ranks, absl::Time now);

  // Notes that a rank has made progress. Ignores ranks of other nodes.
  void Beat(int rank, absl::Time now);
  // Notes that a rank waits for other ranks. Holds until the next beat of that rank.
  void Waits(int rank);
  // Notes that a rank does something that may take any time. Holds until its next beat.
  void Pauses(int rank);

  // Returns the rank that hangs, or nullopt. Must be called at look_at(), after all beats that have
  // arrived. If it is called much later, or Beat() is, this process itself did not run. That time
  // counts as nobody's silence, because the ranks may have stood still with it.
  std::optional<Hang> Look(absl::Time now, const StateOf& state_of);
  absl::Time look_at() const { return awake_at_ + look_every_; }

 private:
  struct Rank {
    std::optional<absl::Time> last_beat;
    absl::Time silent_since;         // The last beat, moved by the time in which nothing ran.
    int beats = 0;                   // At most 2 are counted.
    absl::Duration longest_silence;  // Between two beats.
    bool waits = false;
    bool pauses = false;
  };
  void Awake(absl::Time now);
  absl::Duration LimitOf(const Rank& rank) const;

  const absl::Duration hang_timeout_;
  const absl::Duration look_every_;
  std::map<int, Rank> ranks_;
  absl::Time awake_at_;
};

}  // namespace accel::shim
