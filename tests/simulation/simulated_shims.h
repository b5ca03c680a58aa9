// An agent's door to the simulated processes of its host. It behaves as PosixShimHost does: a shim
// that was told to end takes a moment to leave, and what it is told in that moment is lost.
#pragma once

#include <vector>

#include "common/clock.h"
#include "common/unique_fd.h"
#include "shim/host/shim_host.h"
#include "tests/simulation/simulated_processes.h"

namespace accel {

class SimulatedShims final : public ShimHost {
 public:
  // Both outlive this.
  SimulatedShims(SimulatedProcesses* processes, Clock* clock);

  absl::Status StartShim(const JobId& job) override;
  absl::Status StartGeneration(const GenerationStart& start, UniqueFd store_socket) override;
  absl::Status StopGeneration(const GenerationStop& stop) override;
  void EndShim(const JobId& job) override;
  std::vector<ShimReport> TakeReports() override;
  int wake_fd() const override { return wake_.get(); }

 private:
  SimulatedShim* Find(const JobId& job);  // Null: there is none.

  SimulatedProcesses* const processes_;
  Clock* const clock_;
  UniqueFd wake_;
};

}  // namespace accel
