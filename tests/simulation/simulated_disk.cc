#include "tests/simulation/simulated_disk.h"

#include <utility>

#include "common/check.h"

namespace accel::simulation {

void SimulatedDisk::Commit(coordinator::RowBatch batch,
                           absl::AnyInvocable<void(absl::Status)> done) {
  ACCEL_CHECK(!commit_.has_value(), "at most one commit is in progress");
  const absl::Duration longest =
      Chance() < habits_.slow ? habits_.longest_slow_commit : habits_.longest_commit;
  commit_.emplace();
  commit_->batch = std::move(batch);
  commit_->done = std::move(done);
  commit_->due = clock_->Now() + longest * Chance();
  if (clock_->Now() < full_until_) {
    commit_->result = absl::ResourceExhaustedError("the disk is full");
    commit_->stored = false;
  } else if (fail_next_.has_value()) {
    commit_->result = absl::UnavailableError("fsync failed");
    commit_->stored = *std::exchange(fail_next_, std::nullopt);
  }
}

void SimulatedDisk::Store(coordinator::RowBatch batch) {
  rows_.Commit(std::move(batch), [](absl::Status) {});
}

void SimulatedDisk::Run() {
  if (!commit_.has_value() || clock_->Now() < commit_->due) return;
  InProgress ended = *std::exchange(commit_, std::nullopt);
  if (ended.stored) Store(std::move(ended.batch));
  commits_ += ended.result.ok();
  if (!ended.result.ok()) failed_at_ = clock_->Now();
  ended.done(std::move(ended.result));
}

void SimulatedDisk::Crash(bool stored) {
  if (!commit_.has_value()) return;
  InProgress ended = *std::exchange(commit_, std::nullopt);
  if (stored && ended.result.ok()) Store(std::move(ended.batch));
}

void SimulatedDisk::Repair() {
  full_until_ = absl::InfinitePast();
  fail_next_.reset();
}

}  // namespace accel::simulation
