// Limits the output of jobs on this node's disk (invariant 8).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/state/output_scan.h"
#include "common/ids.h"
#include "common/log_throttle.h"

namespace accel::agent {

// Deletes in a dedicated thread, because deletions must not delay the agent's reports. Deleting
// hundreds of thousands of files takes seconds, and a disk that hangs may never return. Failures
// are logged and retried the next time. In a job's folder, the thread has the rights of the
// folder's owner (docs/decisions/0069). Thread-safe.
class OutputPruner {
 public:
  struct Options {
    std::string jobs_dir;
    size_t jobs_kept = 200;     // Number of newest finished jobs that keep their output.
    int generations_kept = 32;  // Number of newest generations of a job that keep their output.
    // Maximum size of all output in jobs_dir. agent/core/output_budget.h has the order of deletion.
    int64_t max_bytes = std::numeric_limits<int64_t>::max();
    // Time between two checks of that size.
    absl::Duration scan_pause = absl::Seconds(10);
    // Removes a file or an empty folder, as std::filesystem::remove() does. Tests replace it.
    std::function<void(const std::filesystem::path&, std::error_code*)> remove = RemoveOne;
  };

  explicit OutputPruner(Options options);
  // Abandons pending deletions. Waits for a call of `remove` that is in progress.
  ~OutputPruner();

  // The next two functions do not block.
  //
  // Keeps the output of `live` jobs. Deletes the output of the oldest other jobs.
  void PruneJobs(std::set<common::JobId> live);
  // Deletes the output of a job's oldest generations. Called when the job is about to write the
  // output of generation `newest`.
  void PruneGenerations(const common::JobId& job, common::Generation newest);

 private:
  struct Work {
    bool jobs = false;
    std::map<common::JobId, common::Generation> newest;
  };

  static void RemoveOne(const std::filesystem::path& path, std::error_code* error);

  void Run();
  void PruneOldestJobs();
  void KeepBudget();
  void PruneOldestGenerations(const common::JobId& job, common::Generation newest);
  void RemoveJob(const common::JobId& job);
  void RemoveGeneration(const common::JobId& job, const std::filesystem::path& folder);
  void RemoveSegment(const std::filesystem::path& path);
  std::vector<common::Generation> Generations(const common::JobId& job) const;
  // Removes an entry of a job's folder.
  void RemoveEntry(const std::filesystem::path& path);
  void RemoveTree(const std::filesystem::path& path);
  void Remove(const std::filesystem::path& path);
  void LogFailure(const std::filesystem::path& path, const std::error_code& error);
  bool IsLive(const common::JobId& job);
  bool Stopping();

  const Options options_;
  // Only the deleting thread uses the next three.
  common::LogThrottle failures_;
  common::LogThrottle excesses_;
  OutputScan scan_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<common::JobId> live_ ABSL_GUARDED_BY(mutex_);
  Work work_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace accel::agent
