#include "coordinator/store/faulty_store.h"

#include <utility>

#include "common/check.h"

namespace accel::coordinator {

absl::StatusOr<std::vector<Row>> FaultyStore::Load() {
  absl::MutexLock lock(&mutex_);
  return memory_.Load();
}

void FaultyStore::Commit(RowBatch batch, absl::AnyInvocable<void(absl::Status)> done) {
  absl::MutexLock lock(&mutex_);
  ACCEL_CHECK(!pending_.has_value(), "Store: at most one commit is under way");
  ++commits_;
  pending_ = std::move(batch);
  done_ = std::move(done);
}

std::optional<RowBatch> FaultyStore::pending() const {
  absl::MutexLock lock(&mutex_);
  return pending_;
}

int FaultyStore::commits() const {
  absl::MutexLock lock(&mutex_);
  return commits_;
}

void FaultyStore::Succeed() { Finish(absl::OkStatus(), true); }

void FaultyStore::Fail(absl::Status error, bool stored) { Finish(std::move(error), stored); }

void FaultyStore::Finish(absl::Status status, bool store) {
  absl::AnyInvocable<void(absl::Status)> done;
  {
    absl::MutexLock lock(&mutex_);
    ACCEL_CHECK(pending_.has_value(), "a test finishes a commit that was begun");
    if (store) memory_.Commit(*std::move(pending_), [](absl::Status) {});
    pending_.reset();
    done = std::move(done_);
  }
  done(std::move(status));
}

}  // namespace accel::coordinator
