// The agenda lists what the planner must look at next: jobs to which something has happened, jobs
// whose time has come, and the queue. Beyond these, only a change in the ledger leads to an action.
// The cost of a plan therefore depends on what has changed, not on the number of jobs and nodes
// (docs/decisions/0046).
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

  // Notes that something has happened to the job.
  void Touch(const common::JobId& job) { touched_.insert(job); }
  // Notes that something has happened to the queue. Changes of the room for its jobs are in the
  // ledger.
  void TouchQueue() { queue_touched_ = true; }

  // Sets the time at which the planner must look at the job even if nothing happens. Replaces the
  // time that was set before. InfiniteFuture removes it.
  void WakeAt(const common::JobId& job, absl::Time time);
  // Does the same, unless an earlier time is already set.
  void WakeBy(const common::JobId& job, absl::Time time);
  // Sets the same time for the queue.
  void WakeQueueAt(absl::Time time) { queue_at_ = time; }

  // Removes and returns what must be looked at now.
  Due Take(absl::Time now);

  // Returns when something on the agenda must be looked at even if nothing happens.
  absl::Time next() const;

 private:
  std::set<common::JobId> touched_;
  bool queue_touched_ = true;
  absl::Time queue_at_ = absl::InfiniteFuture();
  std::map<common::JobId, absl::Time> times_;
  std::set<std::pair<absl::Time, common::JobId>> by_time_;  // times_, sorted by time.
};

}  // namespace accel::coordinator
