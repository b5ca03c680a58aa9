// The interface through which an agent reaches the simulated processes of its host. It acts as
// PosixShimHost does: a shim that was asked to stop takes a moment to exit, and requests that it
// receives in that time are lost.
#pragma once

#include <optional>
#include <vector>

#include "common/clock.h"
#include "common/unique_fd.h"
#include "shim/host/shim_host.h"
#include "tests/simulation/simulated_processes.h"

namespace accel::simulation {

class SimulatedShims final : public shim::ShimHost {
 public:
  // Both must outlive this object.
  SimulatedShims(SimulatedProcesses* processes, common::Clock* clock);

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
  void Forget(const common::JobId& job) override { processes_->ForgetLeft(job); }
  void SetContact(bool contact) override {
    if (contact) processes_->Contact(clock_->Now());
  }
  std::vector<shim::ShimReport> TakeReports() override;
  int wake_fd() const override { return wake_.get(); }

  // Returns the number of stops that the agent has asked for.
  int stops() const { return stops_; }

 private:
  SimulatedShim* Find(const common::JobId& job);  // Null if the job has no shim here.

  SimulatedProcesses* const processes_;
  common::Clock* const clock_;
  common::UniqueFd wake_;
  int stops_ = 0;
};

}  // namespace accel::simulation
