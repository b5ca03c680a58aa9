// The disk of the simulated coordinator's host. It keeps its rows when the coordinator is killed.
//
// It keeps the promises of coordinator::Store and no more. A commit takes time. It may fail, and is
// then stored completely or not at all. If the coordinator is killed during a commit, the batch is
// stored or not, or a part of its bytes is: torn_commit.h says what the coordinator then finds. A
// batch whose commit succeeded is always kept whole.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "coordinator/store/memory_store.h"
#include "tests/simulation/planted_bug.h"
#include "tests/simulation/seen_faults.h"

namespace accel::simulation {

// The times of the commits in one schedule.
struct DiskHabits {
  absl::Duration longest_commit = absl::Milliseconds(60);
  double slow = 0.03;  // Probability that a commit takes up to longest_slow_commit.
  absl::Duration longest_slow_commit = absl::Seconds(2);
};

// What remains of a commit that did not succeed. kTorn: a part of its bytes.
enum class Remains { kNothing, kTorn, kWhole };

// The store of one coordinator process after the other. Not thread-safe.
class SimulatedDisk final : public coordinator::Store {
 public:
  // The pointers must outlive the disk.
  SimulatedDisk(uint32_t seed, const DiskHabits* habits, const PlantedBug* bug, SeenFaults* seen,
                common::Clock* clock)
      : random_(seed), part_(seed), habits_(*habits), bug_(*bug), seen_(*seen), clock_(clock) {}

  // Returns the error of the real store if a torn commit has left rows that it cannot read.
  absl::StatusOr<std::vector<coordinator::Row>> Load() override;
  void Commit(coordinator::RowBatch batch, absl::AnyInvocable<void(absl::Status)> done) override;

  // Ends the commit in progress if it is due.
  void Run();

  // Ends the commit in progress, because the coordinator was killed, or its host lost its power.
  void Crash(Remains remains, bool power_loss);

  // Lets every commit fail for this time, because the disk is full.
  void FillFor(absl::Duration time) { full_until_ = clock_->Now() + time; }
  // Lets the next commit fail with an error of fsync.
  void FailNext(Remains remains) { fail_next_ = remains; }
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
    Remains remains = Remains::kWhole;
  };

  static double Chance(std::mt19937* random) {
    return std::uniform_real_distribution<double>(0, 1)(*random);
  }
  void Store(coordinator::RowBatch batch, Remains remains);
  std::vector<coordinator::Row> Rows();
  void Replace(std::vector<coordinator::Row> rows);

  std::mt19937 random_;
  std::mt19937 part_;  // Says how much of a torn commit remains.
  const DiskHabits& habits_;
  const PlantedBug& bug_;
  SeenFaults& seen_;
  common::Clock* const clock_;
  coordinator::MemoryStore rows_;
  absl::Status damage_;  // Why the rows cannot be read.
  // The rows before the last commit that succeeded, if the disk lies about fsync.
  std::optional<std::vector<coordinator::Row>> synced_;
  std::optional<InProgress> commit_;
  absl::Time full_until_ = absl::InfinitePast();
  std::optional<Remains> fail_next_;
  int commits_ = 0;
  absl::Time failed_at_ = absl::InfinitePast();
};

}  // namespace accel::simulation
