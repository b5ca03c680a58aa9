#include "agent/state/output_pruner.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "agent/state/job_folder.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/priority.h"
#include "logs/log_paths.h"
#include "process/user_rights.h"

namespace accel::agent {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kLogPause = absl::Minutes(1);

// Returns the entries of a folder. Empty if it cannot be read.
std::vector<fs::path> Children(const fs::path& folder) {
  std::vector<fs::path> children;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    children.push_back(entry->path());
  }
  return children;
}

}  // namespace

OutputPruner::OutputPruner(Options options)
    : options_(std::move(options)),
      failures_(kLogPause),
      excesses_(kLogPause),
      scan_(options_.jobs_dir),
      thread_([this] { Run(); }) {}

OutputPruner::~OutputPruner() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void OutputPruner::PruneJobs(std::set<common::JobId> live) {
  absl::MutexLock lock(&mutex_);
  live_ = std::move(live);
  work_.jobs = true;
}

void OutputPruner::PruneGenerations(const common::JobId& job, common::Generation newest) {
  absl::MutexLock lock(&mutex_);
  work_.newest[job] = newest;
}

void OutputPruner::Run() {
  common::LowerThreadPriority();
  const auto due = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || work_.jobs || !work_.newest.empty();
  };
  const bool has_budget = options_.max_bytes < std::numeric_limits<int64_t>::max();
  // The first scan waits, because the agent must first find out which jobs are live.
  absl::Time next_scan =
      has_budget ? common::SteadyClock()->Now() + options_.scan_pause : absl::InfiniteFuture();
  while (true) {
    Work work;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(&due), next_scan - common::SteadyClock()->Now());
      if (stopping_) return;
      work = std::exchange(work_, Work());
    }
    for (const auto& [job, newest] : work.newest) PruneOldestGenerations(job, newest);
    if (work.jobs) PruneOldestJobs();
    if (common::SteadyClock()->Now() < next_scan) continue;
    KeepBudget();
    next_scan = common::SteadyClock()->Now() + options_.scan_pause;
  }
}

void OutputPruner::KeepBudget() {
  std::set<common::JobId> live;
  {
    absl::MutexLock lock(&mutex_);
    live = live_;
  }
  const OutputRemovals plan = PlanRemovals(scan_.Scan(live), live, options_.max_bytes);
  for (const GenerationOutput& output : plan.generations) {
    // The job may have returned to this node in the meantime.
    if (!live.contains(output.job) && IsLive(output.job)) continue;
    RemoveGeneration(output.job, output.folder);
    if (!live.contains(output.job)) Remove(fs::path(output.folder).parent_path());
  }
  for (const std::string& path : plan.segments) RemoveSegment(path);
  if (plan.bytes == 0 && plan.excess == 0) return;
  if (const auto left_out = excesses_.Admit(common::SteadyClock()->Now())) {
    common::LogWarning("deleted output of jobs because all of it took more disk than it may",
                       {{"limit", options_.max_bytes},
                        {"deleted", plan.bytes},
                        {"still_too_much", plan.excess},
                        {"same_since_last_line", *left_out}});
  }
}

void OutputPruner::PruneOldestJobs() {
  std::vector<common::JobId> finished;
  for (const fs::path& child : Children(options_.jobs_dir)) {
    common::JobId job(child.filename().string());
    if (!IsLive(job)) finished.push_back(std::move(job));
  }
  if (finished.size() <= options_.jobs_kept) return;
  // Job ids sort by the time of submission.
  std::sort(finished.begin(), finished.end());
  finished.resize(finished.size() - options_.jobs_kept);
  for (const common::JobId& job : finished) {
    if (!IsLive(job)) RemoveJob(job);  // The job may have returned to this node in the meantime.
  }
}

void OutputPruner::RemoveJob(const common::JobId& job) {
  const fs::path folder = logs::JobLogDir(options_.jobs_dir, job.value());
  // The folder is not removed as a whole, because the job may return meanwhile
  // with another generation.
  if (const auto owner = OwnerOfJobFolder(options_.jobs_dir, job)) {
    const process::UserRights rights(*owner);
    OpenToOwner(folder);
    for (const fs::path& child : Children(folder)) RemoveEntry(child);
  }
  Remove(folder);
}

void OutputPruner::RemoveGeneration(const common::JobId& job, const fs::path& folder) {
  const auto owner = OwnerOfJobFolder(options_.jobs_dir, job);
  if (!owner) return;
  const process::UserRights rights(*owner);
  OpenToOwner(folder.parent_path());
  RemoveEntry(folder);
}

void OutputPruner::RemoveEntry(const fs::path& path) {
  if (path.filename() != kUploadName) return RemoveTree(path);
  // The name `code` says that the upload is complete. The upload is therefore renamed before it is
  // deleted, so that a job that returns meanwhile does not use a half of it.
  const fs::path old = path.parent_path() / kOldUploadName;
  // Removes what an agent has left that ended after the rename below.
  RemoveTree(old);
  if (Stopping()) return;
  std::error_code error;
  fs::rename(path, old, error);
  if (error) return LogFailure(path, error);
  RemoveTree(old);
}

void OutputPruner::RemoveSegment(const fs::path& path) {
  // JOBS_DIR/JOB/gen_N/rank_R/segment
  const fs::path job = path.parent_path().parent_path().parent_path().filename();
  const auto owner = OwnerOfJobFolder(options_.jobs_dir, common::JobId(job.string()));
  if (!owner) return;
  const process::UserRights rights(*owner);
  Remove(path);
}

void OutputPruner::PruneOldestGenerations(const common::JobId& job, common::Generation newest) {
  const std::string folder = logs::JobLogDir(options_.jobs_dir, job.value());
  for (const common::Generation generation : Generations(job)) {
    if (generation > newest - options_.generations_kept) continue;
    RemoveGeneration(job, logs::GenerationLogDir(folder, generation));
  }
}

std::vector<common::Generation> OutputPruner::Generations(const common::JobId& job) const {
  const auto owner = OwnerOfJobFolder(options_.jobs_dir, job);
  if (!owner) return {};
  const process::UserRights rights(*owner);
  const std::string folder = logs::JobLogDir(options_.jobs_dir, job.value());
  OpenToOwner(folder);
  return logs::ListGenerations(folder);
}

void OutputPruner::RemoveTree(const fs::path& path) {
  std::error_code error;
  // A link to a folder is removed and not followed, because it may lead out of the jobs' folder.
  if (fs::is_directory(fs::symlink_status(path, error))) {
    OpenToOwner(path);
    for (fs::directory_iterator entry(path, error), end; !error && entry != end;
         entry.increment(error)) {
      if (Stopping()) return;
      RemoveTree(entry->path());
    }
  }
  Remove(path);
}

void OutputPruner::Remove(const fs::path& path) {
  if (Stopping()) return;
  std::error_code error;
  options_.remove(path, &error);
  // A folder that is not empty is in use again, so it is kept.
  if (error && error != std::errc::directory_not_empty) LogFailure(path, error);
}

void OutputPruner::LogFailure(const fs::path& path, const std::error_code& error) {
  if (const auto left_out = failures_.Admit(common::SteadyClock()->Now())) {
    common::LogWarning("could not delete old output",
                       {{"path", path.string()}, {"why", error.message()}, {"others", *left_out}});
  }
}

void OutputPruner::RemoveOne(const fs::path& path, std::error_code* error) {
  fs::remove(path, *error);
}

bool OutputPruner::IsLive(const common::JobId& job) {
  absl::MutexLock lock(&mutex_);
  return live_.contains(job);
}

bool OutputPruner::Stopping() {
  absl::MutexLock lock(&mutex_);
  return stopping_;
}

}  // namespace accel::agent
