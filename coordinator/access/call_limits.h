// Bounds what each user and each node may ask for at a time, so that none of them takes what the
// others need: streams of agents, watches of jobs, the loop's time
// (docs/decisions/0081-no-caller-takes-the-room-of-others.md).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "coordinator/access/access_table.h"
#include "coordinator/access/caller.h"

namespace accel::coordinator {

// The place of one call among those of its caller. It is free again when this object is destroyed,
// which the handler of a call does when the call has ended. May outlive the CallLimits.
class CallPlace {
 public:
  CallPlace() = default;  // For a call without a limit.

 private:
  friend class CallLimits;
  explicit CallPlace(std::shared_ptr<void> taken) : taken_(std::move(taken)) {}

  std::shared_ptr<void> taken_;
};

// Thread-safe.
class CallLimits {
 public:
  // Each user may submit kSubmitBurst jobs at once, and after that this many per second.
  static constexpr double kSubmitsPerSecond = 200;
  static constexpr double kSubmitBurst = 2'000;

  // Gives the call a place. UNAVAILABLE, which clients answer with another attempt: the caller has
  // AccessRule::at_once calls of this method in progress, or submits too fast. The owner has no
  // limits, because he can do worse to his own coordinator, and all of his agents are one caller.
  // `now` is monotonic.
  absl::StatusOr<CallPlace> Take(const Caller& caller, const AccessRule& rule, absl::Time now);

 private:
  using Key = std::tuple<CallerKind, std::string, Method>;
  struct Counts {
    absl::Mutex mutex;
    std::map<Key, int> in_progress ABSL_GUARDED_BY(mutex);  // Without those that have none.
  };
  struct Submits {
    double recent = 0;  // Time takes kSubmitsPerSecond of them away.
    absl::Time last = absl::InfinitePast();
  };

  absl::Status CountSubmit(const std::string& user, absl::Time now);

  const std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
  absl::Mutex mutex_;
  // By user. Has an entry for each that has submitted since the start.
  std::map<std::string, Submits> submits_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace accel::coordinator
