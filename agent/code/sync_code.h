// Writes the uploaded programs of jobs to the disk after their workers have started. Otherwise each
// start would wait for the disk (docs/decisions/0083).
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
  // Pause before a sync. Workers start during the pause, and one sync then serves all jobs that
  // were placed meanwhile.
  static constexpr absl::Duration kPause = absl::Seconds(1);

  // Adds the folders that an earlier agent of this boot has left unsynced.
  CodeSync(std::string jobs_dir, std::string boot_id, absl::Duration pause = kPause);
  // Waits for a sync that is in progress. Leaves the other folders to the next agent, because an
  // agent must stop quickly.
  ~CodeSync();

  // Adds the folder that PlaceCode() has made for a job. The thread later writes it to the disk and
  // then removes its mark.
  void Add(const common::JobId& job);

 private:
  void AddUnsynced();
  void Run();
  // Blocks until jobs must be synced, and returns them. Returns an empty set if this object
  // is being destroyed.
  std::set<common::JobId> Await();
  absl::Status Sync() const;
  // Returns the place of a job's code, with the owner of the job's folder. nullopt if there is
  // no such folder.
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
