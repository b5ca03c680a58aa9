// The interface through which an agent reaches the simulated processes of its host. It acts as
// PosixShimHost does: a shim that was asked to stop takes a moment to exit, and requests that it
// receives in that time are lost. It writes a record before it starts a process, and a later agent
// finds a shim only by its record, as in shim/host/adoption.cc.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/unique_fd.h"
#include "shim/host/shim_host.h"
#include "tests/simulation/node_disk.h"
#include "tests/simulation/planted_bug.h"
#include "tests/simulation/simulated_processes.h"

namespace accel::simulation {

// The places in a start at which an agent can be killed: after it has written the intent, spawned
// the shim, written the record of the generation, or sent the start.
enum class StartStep { kIntent, kSpawn, kRecord, kStart };

class SimulatedShims final : public shim::ShimHost {
 public:
  // The pointers must outlive this object. `boot_id` names the present boot of the host.
  SimulatedShims(std::string boot_id, const PlantedBug* bug, SimulatedProcesses* processes,
                 NodeDisk* disk, common::Clock* clock);

  // Kills the agent after this step of its next start. From then on this object does nothing. The
  // agent must be destroyed once it returns from its turn.
  void DieAfter(StartStep step, std::function<void()> on_death);
  void LetLive() { dies_after_.reset(); }
  bool died() const { return died_; }

  std::vector<shim::ShimReport> Adopt() override;
  absl::Status StartShim(const common::JobId& job) override;
  absl::Status StartShimAs(const common::JobId& job, const process::Account&) override {
    return StartShim(job);
  }
  std::optional<uid_t> UserOf(const common::JobId&) const override { return 0; }
  absl::Status StartGeneration(const shim::StartCommand& start,
                               common::UniqueFd store_socket) override;
  absl::Status StopGeneration(const shim::StopCommand& stop) override;
  void EndShim(const common::JobId& job) override;
  void Forget(const common::JobId& job) override;
  void SetContact(bool contact) override {
    if (contact) processes_->Contact(clock_->Now());
  }
  std::vector<shim::ShimReport> TakeReports() override;
  int wake_fd() const override { return wake_.get(); }

  // Returns the number of stops that the agent has asked for.
  int stops() const { return stops_; }

 private:
  SimulatedShim* Find(const common::JobId& job);  // Null if the agent knows no shim of the job.
  std::optional<shim::ShimReport> AdoptDead(const common::JobId& job);
  shim::ShimReport Finish(const LeftShim& left);
  bool DiesAfter(StartStep step);

  const std::string boot_id_;
  const PlantedBug& bug_;
  SimulatedProcesses* const processes_;
  NodeDisk* const disk_;
  common::Clock* const clock_;
  common::UniqueFd wake_;
  std::set<common::JobId> known_;      // The jobs whose shim this agent has started or found.
  std::set<common::JobId> forgotten_;  // Those whose results the coordinator has stored.
  std::optional<std::pair<StartStep, std::function<void()>>> dies_after_;
  bool died_ = false;
  int stops_ = 0;
};

}  // namespace accel::simulation
