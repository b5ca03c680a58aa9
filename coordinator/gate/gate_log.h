// The log lines of the gate. Strangers can cause any number of events, so one line sums up the
// events of ten seconds.
#pragma once

#include <sys/types.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/log.h"
#include "common/log_throttle.h"
#include "coordinator/gate/core/gate_state.h"

namespace accel::coordinator {

// Not thread-safe.
class GateLog {
 public:
  // Logs the changes of the counts since the last line, if there are any and the last line
  // is old enough.
  void Note(const GateCounts& now_counts, absl::Time now) {
    if (!IsDue(now_counts) || now < next_) return;
    next_ = now + kPause;
    common::LogWarning("turned connections away",
                       {{"no_valid_call_in_time", now_counts.expired - logged_.expired},
                        {"unknown_protocol", now_counts.unknown - logged_.unknown},
                        {"closed_for_newer_ones", now_counts.evicted - logged_.evicted},
                        {"refused", now_counts.refused - logged_.refused}});
    logged_ = now_counts;
  }

  // Logs that no connection can be accepted at present.
  void NoteNoRoom(int first_crowded, absl::Time now) {
    const auto others = no_room_.Admit(now);
    if (!others.has_value()) return;
    common::LogWarning("no free descriptor or memory for another connection, retrying",
                       {{"open_at_most", first_crowded},
                        {"others_since", *others},
                        {"do", "raise the limit on open files (ulimit -Hn, LimitNOFILE)"}});
  }

  // Logs that a user who is neither the coordinator's nor root has connected to the Unix socket.
  void NoteForeignUser(std::optional<uid_t> uid, absl::Time now) {
    const auto others = foreign_users_.Admit(now);
    if (!others.has_value()) return;
    common::LogWarning(
        "closed a connection to the Unix socket: it is another user's",
        {{"uid", uid.has_value() ? absl::StrCat(*uid) : "unknown"}, {"others_since", *others}});
  }

  // Returns when Note() can log these counts. InfiniteFuture() if they have not changed.
  absl::Time DueAt(const GateCounts& now_counts) const {
    return IsDue(now_counts) ? next_ : absl::InfiniteFuture();
  }

 private:
  static constexpr absl::Duration kPause = absl::Seconds(10);

  bool IsDue(const GateCounts& counts) const {
    return counts.expired != logged_.expired || counts.unknown != logged_.unknown ||
           counts.evicted != logged_.evicted || counts.refused != logged_.refused;
  }

  GateCounts logged_;
  common::LogThrottle no_room_{kPause};
  common::LogThrottle foreign_users_{kPause};
  absl::Time next_ = absl::InfinitePast();
};

}  // namespace accel::coordinator
