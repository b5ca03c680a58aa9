#include "tests/simulation/simulated_coordinator.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace accel::simulation {

coordinator::Limits SimulatedLimits() {
  coordinator::Limits limits;
  limits.grow_after = absl::Seconds(3);
  limits.longest_wait_for_checkpoint = absl::Seconds(30);
  return limits;
}

SimulatedCoordinator::SimulatedCoordinator(std::string cluster, uint32_t seed, SimulatedDisk* disk,
                                           const PlantedBug* bug, common::Clock* time)
    : cluster_(std::move(cluster)), disk_(disk), bug_(*bug), time_(time), clock_(seed, time) {}

SimulatedCoordinator::~SimulatedCoordinator() {
  Kill(Remains::kWhole, absl::InfiniteDuration(), false);
}

bool SimulatedCoordinator::runs() const {
  return loop_ != nullptr && time_->Now() >= paused_until_;
}

absl::Status SimulatedCoordinator::Start() {
  coordinator::Store* store = disk_;
  if (bug_.store) {
    store_ = bug_.store(disk_);
    store = store_.get();
  }
  loop_ = std::make_unique<coordinator::CoordinatorLoop>(
      coordinator::CoordinatorLoop::Options{.store = store,
                                            .clock = &clock_,
                                            .wall_clock = [time = time_] { return time->Now(); },
                                            .boot_id = absl::StrCat("boot-", boot_),
                                            .cluster_id = cluster_,
                                            .limits = SimulatedLimits()});
  ++life_;
  down_ = false;
  return loop_->Load();
}

absl::Status SimulatedCoordinator::Run() {
  if (loop_ == nullptr && time_->Now() >= start_at_) {
    if (absl::Status started = Start(); !started.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("a coordinator cannot recover what is stored: ", started.ToString()));
    }
  }
  if (!runs()) return absl::OkStatus();
  loop_->RunOnce();
  return absl::OkStatus();
}

void SimulatedCoordinator::KillIfCommitting() {
  if (at_commit_ && disk_->committing()) std::exchange(at_commit_, nullptr)();
}

void SimulatedCoordinator::Kill(Remains remains, absl::Duration away, bool reboot) {
  if (loop_ == nullptr) return;
  if (reboot) {
    ++boot_;
    clock_.Reboot();
  }
  down_ = reboot;
  // The loop's destructor ends all calls with UNAVAILABLE, which is what clients and agents get
  // from the kernel when a process dies.
  loop_.reset();
  store_.reset();
  disk_->Crash(remains, reboot);
  start_at_ = time_->Now() + away;
  paused_until_ = absl::InfinitePast();
}

void SimulatedCoordinator::KillAtCommit(Remains remains, absl::Duration away, bool reboot) {
  at_commit_ = [=, this] { Kill(remains, away, reboot); };
}

void SimulatedCoordinator::Pause(absl::Duration time) {
  if (loop_ != nullptr) paused_until_ = time_->Now() + time;
}

void SimulatedCoordinator::EndFaults() {
  at_commit_ = nullptr;
  start_at_ = absl::InfinitePast();
  paused_until_ = absl::InfinitePast();
}

}  // namespace accel::simulation
