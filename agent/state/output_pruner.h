// Keeps the output of jobs within bounds on this node's disk (invariant 8).
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/ids.h"
#include "common/log_throttle.h"

namespace accel::agent {

// Deletes in a thread of its own, because an agent has a heartbeat to keep: hundreds of thousands
// of files take seconds, and a disk that hangs takes for ever. What cannot be deleted is logged and
// stays until the next time. Thread-safe.
class OutputPruner {
 public:
  struct Options {
    std::string jobs_dir;
    size_t jobs_kept = 200;     // Of finished jobs, the newest keep their output.
    int generations_kept = 32;  // Of one job, the newest.
    // Removes a file or an empty folder, as std::filesystem::remove() does. Tests replace it.
    std::function<void(const std::filesystem::path&, std::error_code*)> remove = RemoveOne;
  };

  explicit OutputPruner(Options options);
  // Leaves what is not deleted yet. Waits for the one call of `remove` that is under way.
  ~OutputPruner();

  // Both return at once.
  //
  // The output of `live` jobs stays; of the others, the oldest lose theirs.
  void PruneJobs(std::set<common::JobId> live);
  // A job is about to write the output of generation `newest`; its oldest ones lose theirs.
  void PruneGenerations(const common::JobId& job, common::Generation newest);

 private:
  struct Work {
    bool jobs = false;
    std::map<common::JobId, common::Generation> newest;
  };

  static void RemoveOne(const std::filesystem::path& path, std::error_code* error);

  void Run();
  void PruneOldestJobs();
  void PruneOldestGenerations(const common::JobId& job, common::Generation newest);
  void RemoveJob(const common::JobId& job);
  void RemoveTree(const std::filesystem::path& path);
  void Remove(const std::filesystem::path& path);
  bool IsLive(const common::JobId& job);
  bool Stopping();

  const Options options_;
  common::LogThrottle failures_;  // The thread's.
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<common::JobId> live_ ABSL_GUARDED_BY(mutex_);
  Work work_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace accel::agent
