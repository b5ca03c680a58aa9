// Writes the programs of jobs to the disk after their workers have started, because each start
// would wait for the disk otherwise (docs/decisions/0083).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/code/place_code.h"
#include "common/ids.h"

namespace accel::agent {

// Thread-safe.
class CodeSync {
 public:
  // Pause before a sync, in which the workers start, and after which one call serves all jobs that
  // were placed meanwhile.
  static constexpr absl::Duration kPause = absl::Seconds(1);

  // Begins with the folders that an agent of the same boot has left unsynced.
  CodeSync(std::string jobs_dir, std::string boot_id, absl::Duration pause = kPause);
  // Waits for a sync in progress, and begins none, because an agent that stops must not be silent
  // for long. The next agent continues.
  ~CodeSync();

  // Writes the folder that PlaceCode() has made for a job to the disk, and then removes its mark.
  void Add(const common::JobId& job);

 private:
  void AddUnsynced();
  void Run();
  // Returns the jobs that must be synced now, or none if this object is destroyed.
  std::set<common::JobId> Await();
  absl::Status Sync() const;
  // Returns the place of a job's folder, or nullopt if there is none.
  std::optional<CodePlace> PlaceOf(const common::JobId& job) const;

  const std::string jobs_dir_;
  const std::string boot_id_;
  const absl::Duration pause_;
  absl::Mutex mutex_;
  std::set<common::JobId> pending_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace accel::agent
