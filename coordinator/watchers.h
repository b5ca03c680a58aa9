// The committed jobs, and who wants to hear of each change. One thread, the loop's, calls all of
// it.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "coordinator/coordinator.h"
#include "coordinator/inbox.h"

namespace accel {

class Watchers {
 public:
  static constexpr size_t kMostWatchers = 10'000;

  // The job has been committed like this. Tells its watchers.
  void Publish(JobPtr job);
  // The job has been erased. Jobs are erased long after their final phase, so nobody watches any
  // more.
  void Erase(const JobId& job) { jobs_.erase(job); }

  void Watch(WatchEvent watch);
  void Unwatch(WatchId watch);
  void List(ListJobsEvent list) const;
  // NOT_FOUND: no such job.
  absl::StatusOr<JobPtr> Find(const JobId& job) const;

  // Everybody hears UNAVAILABLE.
  void Close();

 private:
  struct Watcher {
    JobId job;
    absl::AnyInvocable<void(absl::StatusOr<JobPtr>)> on_change;
  };

  std::map<JobId, JobPtr> jobs_;
  std::map<WatchId, Watcher> watchers_;
  std::map<JobId, std::set<WatchId>> by_job_;
};

}  // namespace accel
