#include "tests/simulation/simulated_disk.h"

#include <utility>

#include "common/check.h"
#include "tests/simulation/torn_commit.h"

namespace accel::simulation {

absl::StatusOr<std::vector<coordinator::Row>> SimulatedDisk::Load() {
  if (!damage_.ok()) return damage_;
  return rows_.Load();
}

void SimulatedDisk::Commit(coordinator::RowBatch batch,
                           absl::AnyInvocable<void(absl::Status)> done) {
  ACCEL_CHECK(!commit_.has_value(), "at most one commit is in progress");
  const absl::Duration longest =
      Chance(&random_) < habits_.slow ? habits_.longest_slow_commit : habits_.longest_commit;
  commit_.emplace();
  commit_->batch = std::move(batch);
  commit_->done = std::move(done);
  commit_->due = clock_->Now() + longest * Chance(&random_);
  if (clock_->Now() < full_until_) {
    commit_->result = absl::ResourceExhaustedError("the disk is full");
    commit_->remains = Remains::kNothing;
  } else if (fail_next_.has_value()) {
    commit_->result = absl::UnavailableError("fsync failed");
    commit_->remains = *std::exchange(fail_next_, std::nullopt);
  }
}

std::vector<coordinator::Row> SimulatedDisk::Rows() { return *rows_.Load(); }

void SimulatedDisk::Replace(std::vector<coordinator::Row> rows) {
  rows_ = coordinator::MemoryStore();
  rows_.Commit({.put = std::move(rows), .erase = {}}, [](absl::Status) {});
}

void SimulatedDisk::Store(coordinator::RowBatch batch, Remains remains) {
  if (remains == Remains::kWhole) rows_.Commit(std::move(batch), [](absl::Status) {});
  if (remains != Remains::kTorn) return;
  seen_.insert("torn commit");
  const auto read = bug_.torn_commit ? bug_.torn_commit : RowsAfterTornCommit;
  absl::StatusOr<std::vector<coordinator::Row>> rows = read(Rows(), batch, Chance(&part_));
  damage_ = rows.status();
  if (rows.ok()) Replace(*std::move(rows));
}

void SimulatedDisk::Run() {
  if (!commit_.has_value() || clock_->Now() < commit_->due) return;
  InProgress ended = *std::exchange(commit_, std::nullopt);
  if (bug_.lies_about_fsync && ended.result.ok()) synced_ = Rows();
  Store(std::move(ended.batch), ended.remains);
  commits_ += ended.result.ok();
  if (!ended.result.ok()) failed_at_ = clock_->Now();
  ended.done(std::move(ended.result));
}

void SimulatedDisk::Crash(Remains remains, bool power_loss) {
  std::optional<InProgress> ended = std::exchange(commit_, std::nullopt);
  if (power_loss && synced_.has_value()) {
    Replace(*std::exchange(synced_, std::nullopt));
  } else if (ended.has_value() && ended->result.ok()) {
    Store(std::move(ended->batch), remains);
  }
}

void SimulatedDisk::Repair() {
  full_until_ = absl::InfinitePast();
  fail_next_.reset();
}

}  // namespace accel::simulation
