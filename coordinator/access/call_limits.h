// Bounds the calls that each user and each node may have at a time. No caller can then use up what
// others need: streams of agents, watches of jobs, and the time of
// the loop (docs/decisions/0081-no-caller-takes-the-room-of-others.md).
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

// The place of one call among the calls of its caller. It is released when this object is
// destroyed, which the handler does when the call has ended. May outlive the CallLimits.
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
  // Each user may submit kSubmitBurst jobs immediately, and then kSubmitsPerSecond jobs per second.
  static constexpr double kSubmitsPerSecond = 200;
  static constexpr double kSubmitBurst = 2'000;

  // Gives the call a place. UNAVAILABLE: the caller already has AccessRule::at_once calls of this
  // method in progress, or submits too fast. Clients retry after this error. The owner has no
  // limits, because the owner can do worse to the coordinator, and all local agents are this one
  // caller. `now` is monotonic.
  absl::StatusOr<CallPlace> Take(const Caller& caller, const AccessRule& rule, absl::Time now);

 private:
  using Key = std::tuple<CallerKind, std::string, Method>;
  struct Counts {
    absl::Mutex mutex;
    std::map<Key, int> in_progress ABSL_GUARDED_BY(mutex);  // Only counts above 0.
  };
  struct Submits {
    double recent = 0;  // Decreases by kSubmitsPerSecond.
    absl::Time last = absl::InfinitePast();
  };

  absl::Status CountSubmit(const std::string& user, absl::Time now);

  const std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
  absl::Mutex mutex_;
  // By user. Has an entry for each user who has submitted since the start.
  std::map<std::string, Submits> submits_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace accel::coordinator
