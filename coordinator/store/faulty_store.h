// A store for tests. It delays each commit until the test ends it with success or an error.
#pragma once

#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "coordinator/store/memory_store.h"

namespace accel::coordinator {

// Each commit waits until the test finishes it. Thread-safe.
class FaultyStore final : public Store {
 public:
  absl::StatusOr<std::vector<Row>> Load() override;
  void Commit(RowBatch batch, absl::AnyInvocable<void(absl::Status)> done) override;

  // Returns the commit in progress, or nullopt if there is none.
  std::optional<RowBatch> pending() const;
  // Returns the number of commits that were ever started.
  int commits() const;

  // End the commit in progress. If `stored` is set, Fail() stores the batch nevertheless, as if
  // only the answer were lost.
  void Succeed();
  void Fail(absl::Status error, bool stored = false);

 private:
  void Finish(absl::Status status, bool store);

  mutable absl::Mutex mutex_;
  MemoryStore memory_ ABSL_GUARDED_BY(mutex_);
  std::optional<RowBatch> pending_ ABSL_GUARDED_BY(mutex_);
  absl::AnyInvocable<void(absl::Status)> done_ ABSL_GUARDED_BY(mutex_);
  int commits_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace accel::coordinator
