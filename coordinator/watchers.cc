#include "coordinator/watchers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/job_phase.h"
#include "coordinator/access/job_access.h"
#include "coordinator/core/job_owner.h"

namespace accel::coordinator {
namespace {

// Returns the job as this caller may see it.
JobPtr As(const Caller& caller, const JobPtr& job) {
  if (Owns(caller, job->spec().owner())) return job;
  return std::make_shared<const v1::Job>(ForOthers(*job));
}

}  // namespace

void Watchers::Publish(const std::set<common::Generation>& changed, v1::Job* job) {
  const common::JobId id(job->job_id());
  NotifyWatchers(id, jobs_[id].Next(changed, job));
}

void Watchers::Erase(const common::JobId& id) {
  jobs_.erase(id);
  if (by_job_.count(id) == 0) return;
  if (const JobPtr end = FindEvenIfDropped(id)) NotifyWatchers(id, end);
}

void Watchers::NotifyWatchers(const common::JobId& id, const JobPtr& job) {
  const auto found = by_job_.find(id);
  if (found == by_job_.end()) return;
  const std::set<WatchId> watching = found->second;
  for (WatchId watch : watching) {
    Watcher& watcher = watchers_.at(watch);
    watcher.on_change(As(watcher.caller, job));
    if (common::IsFinal(job->phase())) Unwatch(watch);
  }
}

JobPtr Watchers::FindEvenIfDropped(const common::JobId& id) const {
  const auto job = jobs_.find(id);
  if (job != jobs_.end()) return job->second.newest();
  const EndedJob* ended = ended_.Find(id);
  return ended == nullptr ? nullptr : std::make_shared<const v1::Job>(ToJob(*ended));
}

void Watchers::Watch(WatchEvent watch) {
  const JobPtr job = FindEvenIfDropped(watch.job);
  if (job == nullptr) return watch.on_change(NoSuchJob(watch.job));
  if (common::IsFinal(job->phase())) return watch.on_change(As(watch.caller, job));
  if (watchers_.size() >= kMaxWatchers) {
    return watch.on_change(absl::ResourceExhaustedError(absl::StrCat(
        kMaxWatchers, " watchers are connected, which is the maximum; try again later")));
  }
  const int64_t bytes = static_cast<int64_t>(job->ByteSizeLong());
  if (watched_bytes_ + bytes > kMaxWatchedBytes) {
    return watch.on_change(absl::ResourceExhaustedError(
        absl::StrCat("the watched jobs take ", watched_bytes_, " bytes, and the maximum is ",
                     kMaxWatchedBytes, "; try again later")));
  }
  if (job->version() > watch.known_version) watch.on_change(As(watch.caller, job));
  watched_bytes_ += bytes;
  by_job_[watch.job].insert(watch.watch);
  watchers_.emplace(watch.watch,
                    Watcher{std::move(watch.caller), watch.job, bytes, std::move(watch.on_change)});
}

void Watchers::Unwatch(WatchId watch) {
  const auto found = watchers_.find(watch);
  if (found == watchers_.end()) return;
  const auto job = by_job_.find(found->second.job);
  job->second.erase(watch);
  if (job->second.empty()) by_job_.erase(job);
  watched_bytes_ -= found->second.bytes;
  watchers_.erase(found);
}

void Watchers::List(ListJobsEvent list) const {
  std::vector<JobPtr> listed;
  if (list.job.empty()) {
    for (const auto& [id, job] : jobs_) listed.push_back(As(list.caller, job.newest()));
  } else {
    const JobPtr job = FindEvenIfDropped(list.job);
    if (job == nullptr) return list.done(NoSuchJob(list.job));
    listed.push_back(As(list.caller, job));
  }
  list.done(std::move(listed));
}

absl::StatusOr<JobPtr> Watchers::Find(const common::JobId& job) const {
  const auto found = jobs_.find(job);
  if (found != jobs_.end()) return found->second.newest();
  if (ended_.Find(job) == nullptr) return NoSuchJob(job);
  return absl::NotFoundError(
      absl::StrCat("job ", job.value(), " ended so long ago that only its end is known"));
}

void Watchers::Close() {
  by_job_.clear();
  for (auto& [id, watcher] : std::exchange(watchers_, {})) {
    watcher.on_change(absl::UnavailableError("the coordinator is shutting down"));
  }
}

}  // namespace accel::coordinator
