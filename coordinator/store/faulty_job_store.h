// A store that takes its time and fails, as told. For tests.
#pragma once

#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "coordinator/store/memory_job_store.h"

namespace accel::coordinator {

// Each commit waits until the test finishes it. Thread-safe.
class FaultyJobStore final : public JobStore {
 public:
  absl::StatusOr<std::vector<JobRecord>> Load() override;
  void Commit(JobBatch batch, absl::AnyInvocable<void(absl::Status)> done) override;

  // The commit under way, if any.
  std::optional<JobBatch> pending() const;
  // How many commits were ever begun.
  int commits() const;

  // Ends the commit under way. `stored`: whether an error leaves it stored all the same (the answer
  // was lost).
  void Succeed();
  void Fail(absl::Status error, bool stored = false);

 private:
  void Finish(absl::Status status, bool store);

  mutable absl::Mutex mutex_;
  MemoryJobStore memory_ ABSL_GUARDED_BY(mutex_);
  std::optional<JobBatch> pending_ ABSL_GUARDED_BY(mutex_);
  absl::AnyInvocable<void(absl::Status)> done_ ABSL_GUARDED_BY(mutex_);
  int commits_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace accel::coordinator
