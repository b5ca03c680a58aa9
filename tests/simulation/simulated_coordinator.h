// The process of the coordinator on its host: the real loop, which can be killed, paused and
// started again over the same disk.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "coordinator/coordinator_loop.h"
#include "tests/simulation/host_clock.h"
#include "tests/simulation/planted_bug.h"
#include "tests/simulation/simulated_disk.h"

namespace accel::simulation {

// Returns the limits of the coordinator. Elastic jobs grow sooner than by default, because a
// schedule is over in a few minutes.
coordinator::Limits SimulatedLimits();

// Not thread-safe.
class SimulatedCoordinator {
 public:
  // The pointers must outlive this object. The clock of the host is another than `time`, except
  // that its wall clock is right, because the coordinator stamps jobs with it.
  SimulatedCoordinator(std::string cluster, uint32_t seed, SimulatedDisk* disk,
                       const PlantedBug* bug, common::Clock* time);
  ~SimulatedCoordinator();

  // Runs the loop once, unless the process is paused. Starts a process if it is time. Returns an
  // error if a process cannot recover what is stored.
  absl::Status Run();

  // Kills the process with SIGKILL, and starts another one after `away`. `remains` says what
  // is left of the commit in progress. With `reboot` the host goes down: no peer is notified, and
  // the next process has another boot id and another monotonic clock.
  void Kill(Remains remains, absl::Duration away, bool reboot);
  // Does the same at the first KillIfCommitting() at which a commit is in progress.
  void KillAtCommit(Remains remains, absl::Duration away, bool reboot);
  void KillIfCommitting();
  // Stops the process, as SIGSTOP does.
  void Pause(absl::Duration time);
  // Ends the pause, starts a process that is to come, and cancels a kill that was scheduled.
  void EndFaults();

  // Returns the process, or null if there is none.
  coordinator::Coordinator* process() { return loop_.get(); }
  coordinator::CoordinatorLoop* loop() { return loop_.get(); }
  // Returns true if there is a process and it is not paused.
  bool runs() const;
  // Returns true if the host is down, so that packets to it are not even refused.
  bool host_down() const { return loop_ == nullptr && down_; }
  // Returns the number of the process. Each new one has the next number.
  uint64_t life() const { return life_; }

 private:
  absl::Status Start();

  const std::string cluster_;
  SimulatedDisk* const disk_;
  const PlantedBug& bug_;
  common::Clock* const time_;
  HostClock clock_;
  std::unique_ptr<coordinator::Store>
      store_;  // A wrapper with a planted bug. Null if there is none.
  std::unique_ptr<coordinator::CoordinatorLoop> loop_;
  uint64_t life_ = 0;
  int boot_ = 1;
  bool down_ = false;
  absl::Time start_at_ = absl::InfinitePast();
  absl::Time paused_until_ = absl::InfinitePast();
  std::function<void()> at_commit_;
};

}  // namespace accel::simulation
