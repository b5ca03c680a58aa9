// What the planner must look at next: the jobs to which something has happened, the jobs whose time
// has come, and the queue. Everything else is known to need no action, so a plan costs what has
// changed, however many jobs and nodes there are (docs/decisions/0046).
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/ids.h"

namespace accel::coordinator {

// Not thread-safe.
class Agenda {
 public:
  struct Due {
    std::vector<common::JobId> jobs;  // Oldest first.
    bool queue = false;
  };

  // Something has happened to the job.
  void Touch(const common::JobId& job) { touched_.insert(job); }
  // Something has happened to the queue, or to the room that nodes have for its jobs.
  void TouchQueue() { queue_touched_ = true; }

  // Sets the time at which the job, or the queue, must be looked at even if nothing happens. It
  // replaces the time that was set before. InfiniteFuture: no such time.
  void WakeAt(const common::JobId& job, absl::Time time);
  // The same, unless an earlier time is set already.
  void WakeBy(const common::JobId& job, absl::Time time);
  void WakeQueueAt(absl::Time time) { queue_at_ = time; }

  // Removes and returns what must be looked at now.
  Due Take(absl::Time now);

  // Returns when something must be looked at even if nothing happens.
  absl::Time next() const;

 private:
  std::set<common::JobId> touched_;
  bool queue_touched_ = true;
  absl::Time queue_at_ = absl::InfiniteFuture();
  std::map<common::JobId, absl::Time> times_;
  std::set<std::pair<absl::Time, common::JobId>> by_time_;  // The same.
};

}  // namespace accel::coordinator
