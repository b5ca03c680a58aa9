// The committed jobs, and the clients that watch them. Not thread-safe: only the loop's
// thread uses it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "coordinator/coordinator.h"
#include "coordinator/core/ended_jobs.h"
#include "coordinator/inbox.h"
#include "coordinator/job_versions.h"

namespace accel::coordinator {

class Watchers {
 public:
  static constexpr size_t kMaxWatchers = 10'000;
  // Maximum total size of the watched jobs, each counted once per watcher. It bounds memory,
  // because a watcher that does not read keeps one or two versions of its job.
  static constexpr int64_t kMaxWatchedBytes = int64_t{256} << 20;

  // Makes an object without jobs. `ended` has the ends of jobs that are no longer kept, and must
  // outlive this object.
  explicit Watchers(const EndedJobs* ended) : ended_(*ended) {}

  // Makes *job the committed version of the job and sends it to the job's watchers. The arguments
  // are those of JobVersions::Next().
  void Publish(const std::set<common::Generation>& changed, v1::Job* job);
  // Removes the job. If the job has watchers, they have not received its end, because it ended and
  // was dropped within one commit. They get the end from `ended`.
  void Erase(const common::JobId& job);

  // Serve the events of the inbox. Watch() and List() answer through the callback of the event.
  void Watch(WatchEvent watch);
  void Unwatch(WatchId watch);
  void List(ListJobsEvent list) const;
  // Returns the committed version of a job. NOT_FOUND: there is no such job, or it is
  // no longer kept.
  absl::StatusOr<JobPtr> Find(const common::JobId& job) const;
  const std::map<common::JobId, JobVersions>& jobs() const { return jobs_; }

  // Ends all watches with UNAVAILABLE.
  void Close();

 private:
  struct Watcher {
    Caller caller;
    common::JobId job;
    int64_t bytes = 0;
    absl::AnyInvocable<void(absl::StatusOr<JobPtr>)> on_change;
  };

  // Returns the job. If it is no longer kept, returns the fields of it that are still known. Null
  // if the job is unknown.
  JobPtr FindEvenIfDropped(const common::JobId& job) const;
  void NotifyWatchers(const common::JobId& id, const JobPtr& job);

  const EndedJobs& ended_;
  std::map<common::JobId, JobVersions> jobs_;  // Each has a version.
  std::map<WatchId, Watcher> watchers_;
  std::map<common::JobId, std::set<WatchId>> by_job_;
  int64_t watched_bytes_ = 0;
};

}  // namespace accel::coordinator
