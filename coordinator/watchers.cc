#include "coordinator/watchers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/job_phase.h"

namespace accel {
namespace {

absl::Status NoSuchJob(const JobId& job) {
  return absl::NotFoundError(absl::StrCat("there is no job ", job.value()));
}

}  // namespace

void Watchers::Publish(JobPtr job) {
  const JobId id(job->job_id());
  jobs_[id] = job;
  const auto found = by_job_.find(id);
  if (found == by_job_.end()) return;
  const std::set<WatchId> watching = found->second;
  for (WatchId watch : watching) {
    watchers_.at(watch).on_change(job);
    if (IsFinal(job->phase())) Unwatch(watch);
  }
}

void Watchers::Watch(WatchEvent watch) {
  const auto job = jobs_.find(watch.job);
  if (job == jobs_.end()) return watch.on_change(NoSuchJob(watch.job));
  const bool final = IsFinal(job->second->phase());
  if (!final && watchers_.size() >= kMostWatchers) {
    return watch.on_change(absl::ResourceExhaustedError(
        absl::StrCat(kMostWatchers, " watchers are being served; try again later")));
  }
  if (final || job->second->version() > watch.known_version) watch.on_change(job->second);
  if (final) return;
  by_job_[watch.job].insert(watch.watch);
  watchers_.emplace(watch.watch, Watcher{watch.job, std::move(watch.on_change)});
}

void Watchers::Unwatch(WatchId watch) {
  const auto found = watchers_.find(watch);
  if (found == watchers_.end()) return;
  const auto job = by_job_.find(found->second.job);
  job->second.erase(watch);
  if (job->second.empty()) by_job_.erase(job);
  watchers_.erase(found);
}

void Watchers::List(ListJobsEvent list) const {
  std::vector<JobPtr> listed;
  if (list.job.empty()) {
    for (const auto& [id, job] : jobs_) listed.push_back(job);
  } else {
    absl::StatusOr<JobPtr> job = Find(list.job);
    if (!job.ok()) return list.done(std::move(job).status());
    listed.push_back(*std::move(job));
  }
  list.done(std::move(listed));
}

absl::StatusOr<JobPtr> Watchers::Find(const JobId& job) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return NoSuchJob(job);
  return found->second;
}

void Watchers::Close() {
  by_job_.clear();
  for (auto& [id, watcher] : std::exchange(watchers_, {})) {
    watcher.on_change(absl::UnavailableError("the coordinator is ending"));
  }
}

}  // namespace accel
