// The committed jobs, and who wants to hear of each change. One thread, the loop's, calls all of
// it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "coordinator/coordinator.h"
#include "coordinator/core/ended_jobs.h"
#include "coordinator/inbox.h"

namespace accel::coordinator {

class Watchers {
 public:
  static constexpr size_t kMostWatchers = 10'000;
  // Of their jobs: a watcher that does not read keeps a version or two of its job in memory.
  static constexpr int64_t kMostWatchedBytes = int64_t{256} << 20;

  // What is known of jobs that are not kept; outlives this.
  explicit Watchers(const EndedJobs* ended) : ended_(*ended) {}

  // The job has been committed like this. Tells its watchers.
  void Publish(JobPtr job);
  // The job has been erased. Who still watches it has not heard its end, because it ended just now
  // and many others with it: that is told.
  void Erase(const common::JobId& job);

  void Watch(WatchEvent watch);
  void Unwatch(WatchId watch);
  void List(ListJobsEvent list) const;
  // NOT_FOUND: no such job.
  absl::StatusOr<JobPtr> Find(const common::JobId& job) const;
  const std::map<common::JobId, JobPtr>& jobs() const { return jobs_; }

  // Everybody hears UNAVAILABLE.
  void Close();

 private:
  struct Watcher {
    common::JobId job;
    int64_t bytes = 0;
    absl::AnyInvocable<void(absl::StatusOr<JobPtr>)> on_change;
  };

  // The job, or what is left to tell of it. Null: neither.
  JobPtr Look(const common::JobId& job) const;
  void TellAll(const common::JobId& id, const JobPtr& job);

  const EndedJobs& ended_;
  std::map<common::JobId, JobPtr> jobs_;
  std::map<WatchId, Watcher> watchers_;
  std::map<common::JobId, std::set<WatchId>> by_job_;
  int64_t watched_bytes_ = 0;
};

}  // namespace accel::coordinator
