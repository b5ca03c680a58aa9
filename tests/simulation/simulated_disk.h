// The disk of the simulated coordinator's host. It keeps its rows when the coordinator is killed.
//
// It keeps the promises of coordinator::Store and no more. A commit takes time. It may fail, and is
// then stored completely or not at all. If the coordinator is killed during a commit, the batch is
// stored or not. A batch whose commit succeeded is always kept.
#pragma once

#include <optional>
#include <random>

#include "absl/time/time.h"
#include "common/clock.h"
#include "coordinator/store/memory_store.h"

namespace accel::simulation {

// The times of the commits in one schedule.
struct DiskHabits {
  absl::Duration longest_commit = absl::Milliseconds(60);
  double slow = 0.03;  // Probability that a commit takes up to longest_slow_commit.
  absl::Duration longest_slow_commit = absl::Seconds(2);
};

// The store of one coordinator process after the other. Not thread-safe.
class SimulatedDisk final : public coordinator::Store {
 public:
  // The arguments must outlive the disk.
  SimulatedDisk(uint32_t seed, const DiskHabits* habits, common::Clock* clock)
      : random_(seed), habits_(*habits), clock_(clock) {}

  absl::StatusOr<std::vector<coordinator::Row>> Load() override { return rows_.Load(); }
  void Commit(coordinator::RowBatch batch, absl::AnyInvocable<void(absl::Status)> done) override;

  // Ends the commit in progress if it is due.
  void Run();

  // Forgets the commit in progress, because the coordinator was killed. Its batch is stored
  // nevertheless if `stored` is set.
  void Crash(bool stored);

  // Lets every commit fail for this time, because the disk is full.
  void FillFor(absl::Duration time) { full_until_ = clock_->Now() + time; }
  // Lets the next commit fail with an error of fsync. Its batch is stored if `stored` is set.
  void FailNext(bool stored) { fail_next_ = stored; }
  // Removes the faults.
  void Repair();

  bool committing() const { return commit_.has_value(); }
  // Returns when a commit last failed. InfinitePast if none did.
  absl::Time failed_at() const { return failed_at_; }
  int commits() const { return commits_; }  // The number of commits that succeeded.

 private:
  struct InProgress {
    coordinator::RowBatch batch;
    absl::AnyInvocable<void(absl::Status)> done;
    absl::Time due;
    absl::Status result;
    bool stored = true;
  };

  double Chance() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  void Store(coordinator::RowBatch batch);

  std::mt19937 random_;
  const DiskHabits& habits_;
  common::Clock* const clock_;
  coordinator::MemoryStore rows_;
  std::optional<InProgress> commit_;
  absl::Time full_until_ = absl::InfinitePast();
  std::optional<bool> fail_next_;
  int commits_ = 0;
  absl::Time failed_at_ = absl::InfinitePast();
};

}  // namespace accel::simulation
